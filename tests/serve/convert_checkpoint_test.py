#!/usr/bin/env python3
"""tools/convert_checkpoint against what the packages themselves wrote, and files that it must refuse.

  convert_checkpoint_test.py [unittest's arguments]
"""
import json
import os
import pickle
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOOL = os.path.join(os.path.dirname(os.path.dirname(HERE)), "tools", "convert_checkpoint")
M3 = os.path.join(HERE, "models", "tiny-m3")


def tensors(path):
    """{name: (dtype, shape, bytes)} of a safetensors file."""
    with open(path, "rb") as f:
        data = f.read()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    header.pop("__metadata__", None)
    return {name: (t["dtype"], t["shape"], data[8 + length + t["data_offsets"][0]:8 + length + t["data_offsets"][1]])
            for name, t in header.items()}


class Call:
    """Pickles as a call."""

    def __init__(self, function, *arguments):
        self.function, self.arguments = function, arguments

    def __reduce__(self):
        return self.function, self.arguments


class ConvertCheckpointTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def convert(self):
        return subprocess.run([sys.executable, TOOL, self.folder], capture_output=True, text=True, timeout=120)

    def archive(self, name, files):
        with zipfile.ZipFile(os.path.join(self.folder, name), "w") as z:
            for file, data in files.items():
                z.writestr(file, data)

    def test_heads_are_kept_bit_for_bit(self):
        for name in ("sparse_linear", "colbert_linear"):
            shutil.copy(os.path.join(M3, name + ".pt"), self.folder)
        done = self.convert()
        self.assertEqual(done.returncode, 0, done.stderr)
        for name in ("sparse_linear", "colbert_linear"):
            wanted = tensors(os.path.join(M3, name + ".safetensors"))
            self.assertEqual(sorted(wanted), ["bias", "weight"])
            self.assertEqual(tensors(os.path.join(self.folder, name + ".safetensors")), wanted)
        self.assertIn("is there already", self.convert().stdout)

    def test_a_whole_checkpoint_and_a_dense_layer(self):
        os.mkdir(os.path.join(self.folder, "2_Dense"))
        shutil.copy(os.path.join(M3, "colbert_linear.pt"), os.path.join(self.folder, "pytorch_model.bin"))
        shutil.copy(os.path.join(M3, "sparse_linear.pt"), os.path.join(self.folder, "2_Dense", "pytorch_model.bin"))
        self.assertEqual(self.convert().returncode, 0)
        self.assertEqual(tensors(os.path.join(self.folder, "model.safetensors")),
                         tensors(os.path.join(M3, "colbert_linear.safetensors")))
        self.assertEqual(tensors(os.path.join(self.folder, "2_Dense", "model.safetensors")),
                         tensors(os.path.join(M3, "sparse_linear.safetensors")))

    def refused(self, says):
        done = self.convert()
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn(says, done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        self.assertEqual([f for f in os.listdir(self.folder) if ".safetensors" in f], [])

    def test_refuses_what_is_no_state_dict(self):
        self.refused("expected pytorch_model.bin, sparse_linear.pt or colbert_linear.pt inside")
        path = os.path.join(self.folder, "sparse_linear.pt")
        with open(path, "wb") as f:
            f.write(b"\x80\x02no zip")
        self.refused("sparse_linear.pt: no zip")
        self.archive("sparse_linear.pt", {"x/version": "3"})
        self.refused("0 files data.pkl inside, expected one")
        self.archive("sparse_linear.pt", {"x/data.pkl": pickle.dumps([1])})
        self.refused("no state dict inside")
        self.archive("sparse_linear.pt", {"x/data.pkl": pickle.dumps({"a": 1})})
        self.refused("'a' is no tensor")
        self.archive("sparse_linear.pt", {"x/data.pkl": b"\x80\x02"})
        self.refused("its pickle cannot be read")

    def test_calls_nothing_that_a_pickle_names(self):
        mark = os.path.join(self.folder, "mark")
        self.archive("sparse_linear.pt", {"x/data.pkl": pickle.dumps({"a": Call(open, mark, "w")})})
        self.refused("expected only what a state dict of tensors is made of")
        self.assertFalse(os.path.exists(mark))

    def test_refuses_a_storage_that_is_cut(self):
        with zipfile.ZipFile(os.path.join(M3, "sparse_linear.pt")) as z:
            files = {name: z.read(name) for name in z.namelist()}
        cut = {name: data[:-4] if "/data/" in name else data for name, data in files.items()}
        self.archive("sparse_linear.pt", cut)
        self.refused("bytes, expected at least")


if __name__ == "__main__":
    unittest.main()

"""An embedding server as one writes it first: a model of sentence-transformers behind FastAPI, with OpenAI's request.

  peer_server.py MODEL DTYPE THREADS PORT    DTYPE as torch names it: float32, bfloat16
"""
import sys

import fastapi
import pydantic
import sentence_transformers
import torch
import uvicorn


class Wanted(pydantic.BaseModel):
    input: str | list[str]


def application(model):
    app = fastapi.FastAPI()

    @app.post("/v1/embeddings")
    def embeddings(wanted: Wanted):  # not async: so FastAPI gives each call a thread
        texts = [wanted.input] if isinstance(wanted.input, str) else wanted.input
        vectors = model.encode(texts, normalize_embeddings=True, show_progress_bar=False)
        return {"object": "list", "data": [{"object": "embedding", "index": index, "embedding": vector.tolist()}
                                           for index, vector in enumerate(vectors)]}

    return app


def main():
    folder, dtype, threads, port = sys.argv[1:]
    torch.set_num_threads(int(threads))
    model = sentence_transformers.SentenceTransformer(folder, device="cpu", model_kwargs={"dtype": getattr(torch, dtype)})
    uvicorn.run(application(model), host="127.0.0.1", port=int(port), log_level="warning")


if __name__ == "__main__":
    main()

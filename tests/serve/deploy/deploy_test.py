#!/usr/bin/env python3
"""serve/deploy as far as it can be tried without Docker and Kubernetes: deploy_test.py --build DIR

Schemas, the linter, names that refer to each other, options that exist, packages that the programs need; and the
services of compose.yaml as programs of this machine: their commands, their checks of health, one of them killed.
"""
import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile

import compose_spec
import kubernetes_validate

import composed
from deploy_files import DEPLOY, PROGRAMS, ROOT, Dockerfile, Flags, compose_text, copied, manifests

# The oldest release that the manifests are for (probes of gRPC have been stable since), and the newest known here.
KUBERNETES = ("1.27", "1.37")
EXAMPLE = {"TRELLIS_MODEL_FOLDER": "/models/m", "TRELLIS_API_KEY": "k"}


def by_kind(kind):
    return {manifest["metadata"]["name"]: manifest for _, manifest in manifests() if manifest["kind"] == kind}


def workloads():
    return {**by_kind("Deployment"), **by_kind("StatefulSet")}


def container(workload):
    [one] = workload["spec"]["template"]["spec"]["containers"]
    return one


def value_after(arguments, flag):
    return arguments[arguments.index(flag) + 1]


def manifests_are_valid():
    count = 0
    for file, manifest in manifests():
        for version in KUBERNETES:
            kubernetes_validate.validate(manifest, version, strict=True)
        count += 1
    assert count == 8, count
    # The schema refuses at all.
    wrong = dict(by_kind("Deployment")["trellis-gateway"], spec={"replicas": "two"})
    try:
        kubernetes_validate.validate(wrong, KUBERNETES[-1], strict=True)
    except kubernetes_validate.ValidationError:
        return
    raise AssertionError("a Deployment of \"two\" replicas is valid")


def manifests_refer_to_what_is_there():
    labels = {name: workload["spec"]["template"]["metadata"]["labels"] for name, workload in workloads().items()}
    def selects(selector, name):
        return selector.items() <= labels[name].items() and all(
            not selector.items() <= other.items() for them, other in labels.items() if them != name)
    for name, workload in workloads().items():
        spec, pod = workload["spec"], workload["spec"]["template"]["spec"]
        assert selects(spec["selector"]["matchLabels"], name), name
        ports = {port["name"]: port["containerPort"] for port in container(workload)["ports"]}
        service = by_kind("Service")[name]["spec"]
        assert selects(service["selector"], name) and all(port["targetPort"] in ports for port in service["ports"]), name
        assert selects(by_kind("PodDisruptionBudget")[name]["spec"]["selector"]["matchLabels"], name), name
        for spread in pod["topologySpreadConstraints"]:
            assert selects(spread["labelSelector"]["matchLabels"], name), name
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            asked = container(workload).get(probe, {})
            assert asked.get("httpGet", {}).get("port", "http") in ports or "grpc" in asked, (name, probe)
            assert asked.get("grpc", {}).get("port", 50051) in (50051,), (name, probe)
        annotations = spec["template"]["metadata"]["annotations"]
        assert int(annotations["prometheus.io/port"]) in ports.values(), name
        mounted = {mount["name"] for mount in container(workload)["volumeMounts"]}
        assert mounted == {volume["name"] for volume in pod["volumes"]}, name
    policy = by_kind("NetworkPolicy")["trellis-server"]["spec"]
    assert selects(policy["podSelector"]["matchLabels"], "trellis-server")
    assert selects(policy["ingress"][0]["from"][0]["podSelector"]["matchLabels"], "trellis-gateway")


def backend_is_the_servers_service():
    scaler = by_kind("HorizontalPodAutoscaler")["trellis-server"]["spec"]
    servers = by_kind("StatefulSet")["trellis-server"]
    target = scaler["scaleTargetRef"]
    assert (target["kind"], target["name"]) == ("StatefulSet", servers["metadata"]["name"])
    assert "replicas" not in servers["spec"], "two would say how many servers there are"
    service = by_kind("Service")[servers["spec"]["serviceName"]]["spec"]
    assert service["clusterIP"] == "None" and service["publishNotReadyAddresses"]
    backend = value_after(container(by_kind("Deployment")["trellis-gateway"])["args"], "--backend")
    assert backend == f"dns:///{servers['spec']['serviceName']}:{service['ports'][0]['port']}", backend


def ends_have_time():
    for name, workload in workloads().items():
        pause = container(workload).get("lifecycle", {}).get("preStop", {}).get("exec", {}).get("command", ["sleep", "0"])
        drain = int(value_after(container(workload)["args"], "--drain-seconds")) + int(pause[1])
        assert workload["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] >= drain + 5, name
    for name, service in composed.services(EXAMPLE).items():
        drain = int(value_after(service["command"], "--drain-seconds"))
        assert int(service["stop_grace_period"].rstrip("s")) >= drain + 5, name


def nobody_is_root():
    for name, workload in workloads().items():
        pod = workload["spec"]["template"]["spec"]
        assert pod["securityContext"]["runAsNonRoot"] and pod["securityContext"]["runAsUser"] > 0, name
        own = container(workload)["securityContext"]
        assert own["readOnlyRootFilesystem"] and not own["allowPrivilegeEscalation"], name
        assert own["capabilities"]["drop"] == ["ALL"], name
        assert f"{pod['securityContext']['runAsUser']}:{pod['securityContext']['runAsGroup']}" == \
            Dockerfile().all(name.removeprefix("trellis-"), "USER")[-1], name


def compose_is_valid():
    options = compose_spec.PyOptions()
    options.apply_merge = True
    options.from_yaml(compose_text(EXAMPLE)).validate()
    for right, wrong in (("cap_drop", "cap_dorp"), ("stop_grace_period: 40s", "stop_grace_period: soon")):
        assert right in compose_text(EXAMPLE)
        try:
            options.from_yaml(compose_text(EXAMPLE).replace(right, wrong)).validate()
        except ValueError:
            continue
        raise AssertionError(f"{wrong} is valid")
    stages = Dockerfile().stages
    for name, service in composed.services(EXAMPLE).items():
        how = service["build"]
        assert (DEPLOY / how["context"] / how["dockerfile"]).resolve() == DEPLOY / "Dockerfile", name
        assert how["target"] in stages, name
        assert service["image"].startswith(f"{PROGRAMS[how['target']]}:"), name


def dockerfile_passes_the_linter():
    linter = pathlib.Path(sys.executable).parent / "hadolint"
    said = subprocess.run([linter, DEPLOY / "Dockerfile"], capture_output=True, text=True)
    assert said.returncode == 0, said.stdout + said.stderr


def build_stage_has_what_it_needs():
    """Its own commands in a folder with no more than it copies, up to the point where the compiler begins."""
    ignored = (DEPLOY / "Dockerfile.dockerignore").read_text(encoding="utf-8").split()
    assert ignored[-1] != "*" and "*" in ignored
    with tempfile.TemporaryDirectory() as folder:
        for instruction, rest in Dockerfile().stages["build"]:
            if instruction != "COPY":
                continue
            for source in copied(rest, ignored):
                target = pathlib.Path(folder, rest.split()[-1])
                if (ROOT / source).is_dir():
                    shutil.copytree(ROOT / source, target)
                else:
                    target.mkdir(exist_ok=True)
                    shutil.copy(ROOT / source, target)
        [make] = [rest for rest in Dockerfile().all("build", "RUN") if "cmake" in rest]
        configure, build, strip = [command.strip() for command in make.split("&&")]
        said = subprocess.run(["bash", "-c", configure], cwd=folder, capture_output=True, text=True)
        assert said.returncode == 0, said.stdout[-3000:] + said.stderr[-3000:]
        rules = pathlib.Path(folder, "build/release/build.ninja").read_text(encoding="utf-8")
        for program in PROGRAMS.values():
            assert program.replace("-", "_") in build.split(), program
            assert f"build {program.replace('-', '_')}: phony bin/{program}\n" in rules, program
            assert f"build/release/bin/{program}" in strip.split(), program
    for stage in PROGRAMS:
        for rest in Dockerfile().all(stage, "COPY"):
            if not rest.startswith("--from"):
                copied(rest.removeprefix("--chmod=0755 "), ignored)


def options_exist(build):
    dockerfile = Dockerfile()
    flags = {stage: Flags(build / "bin" / program) for stage, program in PROGRAMS.items()}
    for stage, program in PROGRAMS.items():
        assert dockerfile.entrypoint(stage) == [program]
        flags[stage].check(f"Dockerfile, {stage}", [], dockerfile.environment(stage))
    for name, workload in workloads().items():
        one = container(workload)
        flags[one["name"]].check(name, one["args"], [entry["name"] for entry in one.get("env", [])])
    for name, service in composed.services(EXAMPLE).items():
        flags[service["build"]["target"]].check(f"compose.yaml, {name}", service["command"], service.get("environment", {}))


def packages_are_what_the_programs_need(build):
    """Of the distribution of the Dockerfile; on another one it cannot be told."""
    release = dict(line.split("=", 1) for line in pathlib.Path("/etc/os-release").read_text().splitlines() if "=" in line)
    here = f"{release['ID']}:{release['VERSION_ID'].strip(chr(34))}-slim"
    if Dockerfile().bases != {here}:
        print(f"   SKIPPED on {here}: the images are of {Dockerfile().bases}")
        return
    needed = set()
    for program in PROGRAMS.values():
        path = build / "bin" / program
        direct = {line.split("[")[1].rstrip("]") for line in subprocess.run(
            ["readelf", "-d", path], capture_output=True, text=True, check=True).stdout.splitlines() if "(NEEDED)" in line}
        found = subprocess.run(["ldd", path], capture_output=True, text=True, check=True).stdout.splitlines()
        for line in found:
            words = line.split()
            if words[0] in direct and len(words) > 2:
                owner = subprocess.run(["dpkg", "-S", pathlib.Path(words[2]).resolve()], capture_output=True, text=True)
                if owner.returncode != 0:  # /lib is a link to /usr/lib, and the package says the former
                    owner = subprocess.run(["dpkg", "-S", words[2]], capture_output=True, text=True, check=True)
                needed.add(owner.stdout.split(":")[0])
    listed = Dockerfile().packages("runtime") - {"curl"}
    needed -= {"libc6", "libgcc-s1"}  # of every image
    assert listed == needed, f"not listed: {sorted(needed - listed)}; not needed: {sorted(listed - needed)}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, required=True, help="build folder with both programs in bin")
    build = parser.parse_args().build
    for test in (manifests_are_valid, manifests_refer_to_what_is_there, backend_is_the_servers_service, ends_have_time,
                 nobody_is_root, compose_is_valid, dockerfile_passes_the_linter, build_stage_has_what_it_needs):
        test()
        print(f"ok {test.__name__}", flush=True)
    for test in (options_exist, packages_are_what_the_programs_need, composed.services_run_as_composed):
        test(build)
        print(f"ok {test.__name__}", flush=True)


if __name__ == "__main__":
    main()

"""Grades programs with tinker-cookbook's own code_rl: one JSON line for each line of input."""
import importlib.util
import json
import os
import sys
import tempfile
import types

# The package itself needs a client of the service, which is not asked for here.
packages = next(path for path in sys.path if os.path.isdir(os.path.join(path, "tinker_cookbook")))
for name in ("tinker_cookbook", "tinker_cookbook.recipes", "tinker_cookbook.recipes.code_rl"):
    package = types.ModuleType(name)
    package.__path__ = [os.path.join(packages, *name.split("."))]
    sys.modules[name] = package
sandbox = types.ModuleType("tinker_cookbook.sandbox")
sandbox.SandboxBackend = sandbox.SandboxFusionClient = object
sys.modules["tinker_cookbook.sandbox"] = sandbox

from tinker_cookbook.recipes.code_rl import code_grading, lcb_utils  # noqa: E402

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "testing_util.py")
    with open(path, "w") as file:
        file.write(lcb_utils.TEST_UTIL)
    spec = importlib.util.spec_from_file_location("testing_util", path)
    testing_util = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(testing_util)


def grade(cases, code):
    """As its TEST_CODE does, in a process of its own."""
    child = os.fork()
    if child == 0:
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nothing, descriptor)
        leave = os._exit
        try:
            sample = code_grading.postprocess_lcb_sample(cases)
            result, _ = testing_util.run_test(sample, code, timeout=2)
            leave(1 if any(one != True for one in result) else 0)  # noqa: E712
        except SystemExit as exit:
            leave(0 if exit.code in (0, None) else 1)
        except BaseException:
            leave(1)
    return os.waitpid(child, 0)[1] == 0


for line in sys.stdin:
    pair = json.loads(line)
    if "response" in pair:
        print(json.dumps(code_grading.extract_code_from_model(pair["response"])), flush=True)
    else:
        print(json.dumps(grade(pair["cases"], pair["code"])), flush=True)

"""Rebuilds loss graphs with torch from their JSON alone: one case per line on stdin, value and gradient per line on stdout."""
import importlib
import json
import operator
import sys

import torch

def resolve(name):
    module, _, attribute = name.rpartition(".")
    if module == "operator":
        return getattr(operator, attribute)
    if name == "getattr":
        return getattr
    target = importlib.import_module(module.split(".")[0])
    for part in name.split(".")[1:]:
        target = getattr(target, part)
    return target


def decode(value, known):
    if isinstance(value, list):
        return [decode(one, known) for one in value]
    if not isinstance(value, dict):
        return value
    ((tag, content),) = value.items()
    if tag == "ref":
        return known[content]
    if tag == "tuple":
        return tuple(decode(one, known) for one in content)
    if tag == "dict":
        return {key: decode(one, known) for key, one in content.items()}
    if tag == "float":
        return float(content)
    raise ValueError(f"{tag} is not emitted")


def run(graph, inputs):
    known = {}
    for node in graph["nodes"]:
        args = [decode(one, known) for one in node["args"]]
        kwargs = {key: decode(one, known) for key, one in node["kwargs"].items()}
        if node["op"] == "placeholder":
            known[node["name"]] = inputs[node["target"]]
        elif node["op"] == "call_function":
            known[node["name"]] = resolve(node["target"])(*args, **kwargs)
        elif node["op"] == "call_method":
            known[node["name"]] = getattr(args[0], node["target"])(*args[1:], **kwargs)
        else:
            return args[0]
    raise ValueError("no output")


def tensor(values):
    return torch.tensor(values["data"], dtype=torch.float64).reshape(values["shape"])


for line in sys.stdin:
    case = json.loads(line)
    inputs = {name: tensor(values) for name, values in case["inputs"].items()}
    logprobs = inputs["logprobs"].requires_grad_()
    loss, _ = run(case["graph"], inputs)
    loss.backward()
    gradient = torch.zeros_like(logprobs) if logprobs.grad is None else logprobs.grad
    print(json.dumps({"loss": loss.item(), "gradient": gradient.tolist()}), flush=True)

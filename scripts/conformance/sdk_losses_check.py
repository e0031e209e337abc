"""Trains with custom losses in both ways that the official SDK has, and prints one JSON line per loss.

The gradient of a pass is read from the weights. A step of Adam from fresh moments subtracts rate * g / (|g| + eps), which is g times
rate / eps to one part in 10^5 where eps is 10^6; a rate of 10^9 lifts what was added far above the rounding of the weights it is added to.
"""

import dataclasses
import inspect
import json
import os
import random
import struct
import urllib.request

import numpy
import tinker
import torch
from tinker import types

import sdk_losses

MODEL = os.environ["CONFORMANCE_MODEL"]
EPS = 1e6
RATE = 1e9
STEPS = 8


def adapter(training, name):
    path = training.save_weights_external(name, ttl_seconds=3600).result().path
    url = tinker.RestClient().get_external_weights_urls(path).result().urls["adapter_model.safetensors"]
    with urllib.request.urlopen(url) as response:
        content = response.read()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    tensors = [value["data_offsets"] for key, value in sorted(header.items()) if key != "__metadata__"]
    body = content[8 + length :]
    return numpy.concatenate([numpy.frombuffer(body[a:b], dtype="<f4") for a, b in tensors]).astype(numpy.float64)


def make_answers():
    """Answers of several lengths behind prompts: tokens, mask, advantages, and a share for each token."""
    rng = random.Random(3)
    answers = []
    for index in range(6):
        length = 6 + 3 * index
        prompt = 2 + index % 3
        tokens = [rng.randrange(5, 260) for _ in range(length + 1)]
        advantage = rng.choice([-1, 1]) * rng.uniform(0.3, 1.5)
        mask = [0.0] * prompt + [1.0] * (length - prompt)
        answers.append((tokens, mask, [advantage * one for one in mask], [rng.uniform(0, 1) for _ in mask]))
    return answers


def plain(answers):
    return [
        types.Datum(
            model_input=types.ModelInput.from_ints(tokens[:-1]),
            loss_fn_inputs={"target_tokens": tokens[1:], "weights": mask},
        )
        for tokens, mask, *_ in answers
    ]


def with_sampler(answers, training):
    """The inputs of the losses, with a sampler that is some way from the weights."""
    rng = random.Random(4)
    found = training.forward(plain(answers), "cross_entropy").result().loss_fn_outputs

    def inputs(answer, output):
        tokens, mask, advantages, alpha = answer
        sampler = [float(x) + rng.gauss(0, 0.4) for x in output["logprobs"].data]
        named = {
            "sampler_logprobs": sampler, "reference": sampler, "advantages": advantages, "mask": mask, "alpha": alpha,
        }
        return tokens, {key: numpy.array(value, dtype=numpy.float32) for key, value in named.items()}

    return [inputs(answer, output) for answer, output in zip(answers, found)]


def for_loss(data, names):
    return [
        types.Datum(
            model_input=types.ModelInput.from_ints(tokens[:-1]),
            loss_fn_inputs={
                "target_tokens": numpy.array(tokens[1:], dtype=numpy.int64), **{name: inputs[name] for name in names},
            },
        )
        for tokens, inputs in data
    ]


def gradient(service, state, before, data, handle, name):
    training = service.create_training_client_from_state(state).result()
    metrics = training.forward_backward_custom(data, handle).result().metrics
    training.optim_step(types.AdamParams(learning_rate=RATE, beta1=0.9, beta2=0.95, eps=EPS)).result()
    return (before - adapter(training, name)) * EPS / RATE, metrics


def train(service, state, data, handle):
    training = service.create_training_client_from_state(state).result()
    losses = []
    for _ in range(STEPS):
        backward = training.forward_backward_custom(data, handle)
        step = training.optim_step(types.AdamParams(learning_rate=1e-3))
        losses.append(backward.result().metrics["loss:sum"])
        step.result()
    return losses[0], losses[-1]


def distance(left, right):
    return float(numpy.abs(left - right).max() / numpy.abs(right).max())


def compare(service, state, before, data, loss):
    names = list(inspect.signature(loss).parameters)
    handle = service.create_custom_loss(loss, {name: 1 for name in names}).result()
    assert handle.loss_id is not None, "the server did not take the loss"
    datums = for_loss(data, names[1:])
    ours, metrics = gradient(service, state, before, datums, handle, f"{loss.__name__}-server")
    two_pass = dataclasses.replace(handle, loss_id=None)
    theirs, expected = gradient(service, state, before, datums, two_pass, f"{loss.__name__}-client")
    assert numpy.abs(theirs).max() > 1e-3, "there is no gradient to compare"
    keys = [key for key in expected if key.startswith(("custom/", "loss:"))]
    first, last = train(service, state, datums, handle)
    return {
        "loss": loss.__name__,
        "nodes": len(handle.graph.graph.nodes),
        "gradient": distance(ours, theirs),
        "metrics": max(abs(metrics[key] - expected[key]) / max(1.0, abs(expected[key])) for key in keys),
        "first": first,
        "last": last,
    }


def refusal(service, loss):
    try:
        names = [name for name in inspect.signature(loss).parameters if name != "beta"]
        service.create_custom_loss(loss, {name: 1 for name in names}).result()
    except Exception as error:  # noqa: BLE001
        return str(error).split("\n")[0]
    return None


def main():
    service = tinker.ServiceClient()
    training = service.create_lora_training_client(base_model=MODEL, rank=8, seed=7).result()
    answers = make_answers()
    for _ in range(4):
        training.forward_backward(plain(answers), "cross_entropy").result()
        training.optim_step(types.AdamParams(learning_rate=1e-2)).result()
    data = with_sampler(answers, training)
    before = adapter(training, "before")
    state = training.save_state("start", ttl_seconds=3600).result().path
    for loss in sdk_losses.LOSSES:
        print(json.dumps(compare(service, state, before, data, loss)), flush=True)
    for loss, description in sdk_losses.UNTRACED:
        print(json.dumps({"untraced": description, "error": refusal(service, loss)}), flush=True)


torch.set_num_threads(1)
main()
os._exit(0)

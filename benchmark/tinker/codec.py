"""Prints how fast the official SDK turns values into bodies and back; see Workload.ts for the numbers."""
import json
import time

import numpy as np
from tinker import types
from tinker._compat import model_dump
from tinker.proto import request_conv, response_conv
from tinker.types.forward_backward_input import ForwardBackwardInput
from tinker.types.forward_backward_request import ForwardBackwardRequest

try:
    import orjson
except ImportError:
    orjson = None

DATUMS, POSITIONS, VOCABULARY, MAX_TOKENS, SECONDS = 128, 2048, 151_936, 32, 2


def tokens(datum):
    return [(index * 7919 + 13) % VOCABULARY for index in range(datum * POSITIONS, (datum + 1) * POSITIONS)]


at = np.arange(POSITIONS)
logprobs = (-((at % 97) / 16)).astype(np.float32)
advantages = np.where(at < POSITIONS / 2, 0, 0.5).astype(np.float32)

data = [
    types.Datum(
        model_input=types.ModelInput.from_ints(tokens(index)),
        loss_fn_inputs={
            "target_tokens": types.TensorData.from_numpy(np.array(tokens(index + 1), dtype=np.int64)),
            "logprobs": types.TensorData.from_numpy(logprobs),
            "advantages": types.TensorData.from_numpy(advantages),
        },
    )
    for index in range(DATUMS)
]


def rate(run):
    size, best = run(), float("inf")
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return {"bytes": size, "seconds": best}


def encode():
    request = ForwardBackwardRequest(
        forward_backward_input=ForwardBackwardInput(data=data, loss_fn="importance_sampling"),
        model_id="model",
        seq_id=1,
    )
    return len(request_conv.forward_backward_request_to_proto(request).SerializeToString())


def result():
    from tinker.proto import tinker_public_pb2 as pb

    message = pb.ForwardBackwardOutput(loss_fn_output_type="TorchLossReturn", metrics={"loss:sum": 1.0})
    record = message.loss_fn_outputs.add(type_tag="TorchLossReturn", num_datums=DATUMS)
    field = record.fields["logprobs"]
    field.data = np.tile(logprobs, DATUMS).tobytes()
    field.offsets = (np.arange(DATUMS + 1, dtype=np.int64) * POSITIONS * 4).tobytes()
    field.dtype = pb.DTYPE_FLOAT32
    return message.SerializeToString()


body = result()


def decode():
    response_conv.deserialize_forward_backward_output(body)
    return len(body)


def encode_sample():
    request = types.SampleRequest(
        num_samples=1,
        prompt=types.ModelInput.from_ints(tokens_0),
        sampling_params=types.SamplingParams(max_tokens=MAX_TOKENS, stop=[151_645]),
        sampling_session_id="session",
        seq_id=1,
        prompt_logprobs=False,
    )
    plain = model_dump(request, exclude_unset=False, exclude_none=True, mode="json")
    return len(orjson.dumps(plain) if orjson is not None else json.dumps(plain).encode())


tokens_0 = tokens(0)

print(
    json.dumps(
        {
            "protobuf, training request, encode": rate(encode),
            "protobuf, training result, decode": rate(decode),
            "JSON, sample request, encode": rate(encode_sample),
        }
    )
)

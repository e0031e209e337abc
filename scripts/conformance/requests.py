"""Prints what the official SDK sends with each request, by its own types, as JSON: required fields, those with defaults, and the others."""

import importlib.metadata
import json

from tinker import types
from tinker.types.client_config_request import ClientConfigRequest
from tinker.types.future_retrieve_request import FutureRetrieveRequest
from tinker.types.futures_retrieve_request import FuturesRetrieveRequest
from tinker.types.unload_model_request import UnloadModelRequest

REQUESTS = {
    "/client/config": ClientConfigRequest,
    "/create_session": types.CreateSessionRequest,
    "/session_heartbeat": types.SessionHeartbeatRequest,
    "/create_sampling_session": types.CreateSamplingSessionRequest,
    "/create_model": types.CreateModelRequest,
    "/get_info": types.GetInfoRequest,
    "/unload_model": UnloadModelRequest,
    "/optim_step": types.OptimStepRequest,
    "/save_weights": types.SaveWeightsRequest,
    "/save_weights_for_sampler": types.SaveWeightsForSamplerRequest,
    "/asample": types.SampleRequest,
    "/retrieve_future": FutureRetrieveRequest,
    "/retrieve_futures": FuturesRetrieveRequest,
}

PARTS = {
    "adam_params": types.AdamParams,
    "lora_config": types.LoraConfig,
    "prompt": types.ModelInput,
    "sampling_params": types.SamplingParams,
}

# Names that a request has on the wire in place of the type's.
WIRE_NAMES = {"optim_params": "adam_params"}


def fields(model):
    found = {"required": [], "sent": [], "optional": []}
    for name, field in model.model_fields.items():
        default = field.get_default(call_default_factory=True) if not field.is_required() else None
        kind = "required" if field.is_required() else "optional" if default is None else "sent"
        found[kind].append(WIRE_NAMES.get(name, name))
    return {kind: sorted(names) for kind, names in found.items()}


print(
    json.dumps(
        {
            "sdk": importlib.metadata.version("tinker"),
            "requests": {path: fields(model) for path, model in REQUESTS.items()},
            "parts": {name: fields(model) for name, model in PARTS.items()},
        },
        indent=2,
    )
)

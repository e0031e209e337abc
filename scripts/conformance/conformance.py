"""Talks to a Tinker server with the official SDK, unmodified, and prints one JSON line per check."""

import importlib.metadata
import io
import json
import math
import os
import tarfile
import traceback
import urllib.request

import tinker
from tinker import types

BASE_MODEL = os.environ.get("CONFORMANCE_MODEL", "effect-rl/tiny-64")
PROMPT = [12, 7, 9, 31, 5]
TARGETS = [7, 9, 31, 5, 14]

checks = []


def check(name):
    def add(function):
        checks.append((name, function))
        return function

    return add


def datum(**inputs):
    return types.Datum(model_input=types.ModelInput.from_ints(PROMPT), loss_fn_inputs=inputs)


def weighted():
    return datum(target_tokens=TARGETS, weights=[0.0, 1.0, 1.0, 1.0, 0.5])


def policy():
    return datum(target_tokens=TARGETS, logprobs=[0.0, -2.0, -3.0, -2.5, -2.0], advantages=[0.0, 1.0, -1.0, 0.5, 2.0])


def close(left, right, tolerance=1e-4):
    assert len(left) == len(right), (left, right)
    for a, b in zip(left, right):
        assert abs(a - b) <= tolerance * max(1, abs(a)), (left, right)


def logprobs_of(output, index=0):
    return [float(x) for x in output.loss_fn_outputs[index]["logprobs"].data]


class Shared:
    service = None
    training = None
    state_path = None
    sampler_path = None


def prompt():
    return types.ModelInput.from_ints(PROMPT)


@check("capabilities list the model")
def _():
    Shared.service = tinker.ServiceClient()
    names = [model.model_name for model in Shared.service.get_server_capabilities().supported_models]
    assert BASE_MODEL in names, names


@check("create a LoRA training client; get_info echoes the rank")
def _():
    Shared.training = Shared.service.create_lora_training_client(base_model=BASE_MODEL, rank=8, seed=7)
    info = Shared.training.get_info()
    assert info.model_data.model_name == BASE_MODEL and info.is_lora and info.lora_rank == 8, info


@check("forward_backward cross_entropy: loss:sum is the weighted sum")
def _():
    output = Shared.training.forward_backward([weighted()], "cross_entropy").result()
    expected = -sum(w * lp for w, lp in zip([0, 1, 1, 1, 0.5], logprobs_of(output)))
    close([output.metrics["loss:sum"]], [expected])


def policy_check(loss, config, token_loss):
    output = Shared.training.forward_backward([policy()], loss, config).result()
    q = [0.0, -2.0, -3.0, -2.5, -2.0]
    a = [0.0, 1.0, -1.0, 0.5, 2.0]
    total = sum(token_loss(lp, qt, at) for lp, qt, at in list(zip(logprobs_of(output), q, a))[1:])
    close([output.metrics["loss:sum"]], [total])


def clip(ratio, low, high):
    return min(max(ratio, low), high)


@check("forward_backward importance_sampling: exact loss")
def _():
    policy_check("importance_sampling", None, lambda lp, q, a: -math.exp(lp - q) * a)


@check("forward_backward ppo: exact loss with clip thresholds")
def _():
    policy_check(
        "ppo",
        {"clip_low_threshold": 0.9, "clip_high_threshold": 1.1},
        lambda lp, q, a: -min(math.exp(lp - q) * a, clip(math.exp(lp - q), 0.9, 1.1) * a),
    )


@check("forward_backward cispo: exact loss with clip thresholds")
def _():
    policy_check(
        "cispo",
        {"clip_low_threshold": 0.5, "clip_high_threshold": 2.0},
        lambda lp, q, a: -clip(math.exp(lp - q), 0.5, 2.0) * lp * a,
    )


@check("forward_backward dro: exact loss with beta")
def _():
    policy_check("dro", {"beta": 0.1}, lambda lp, q, a: -(lp * a - 0.05 * (lp - q) ** 2))


@check("forward: the same logprobs, no gradient")
def _():
    forward = Shared.training.forward([weighted()], "cross_entropy").result()
    again = Shared.training.forward([weighted()], "cross_entropy").result()
    close(logprobs_of(forward), logprobs_of(again), 0)
    still = types.AdamParams(learning_rate=0.0)
    Shared.training.optim_step(still).result()
    Shared.training.forward([weighted()], "cross_entropy").result()
    norms = [value for key, value in Shared.training.optim_step(still).result().metrics.items() if "grad_norm" in key]
    assert norms == [0.0], norms


@check("many datums are sent in chunks and come back in order")
def _():
    data = [types.Datum(
        model_input=types.ModelInput.from_ints(PROMPT[: 2 + i % 4]),
        loss_fn_inputs={"target_tokens": TARGETS[: 2 + i % 4], "weights": [1.0] * (2 + i % 4)},
    ) for i in range(1200)]
    output = Shared.training.forward(data, "cross_entropy").result()
    lengths = [len(record["logprobs"].data) for record in output.loss_fn_outputs]
    assert lengths == [2 + i % 4 for i in range(1200)]


@check("forward_backward and optim_step pipelined: the loss falls, grad_norm is told")
def _():
    losses = []
    for _ in range(8):
        backward = Shared.training.forward_backward([weighted()], "cross_entropy")
        step = Shared.training.optim_step(types.AdamParams(learning_rate=1e-2, grad_clip_norm=1.0))
        losses.append(backward.result().metrics["loss:sum"])
        metrics = step.result().metrics
    assert losses[-1] < losses[0] - 0.5, losses
    assert metrics and any("grad_norm" in key for key in metrics), metrics


@check("forward_backward_custom: its gradient is that of the same built-in loss")
def _():
    try:
        import torch  # noqa: F401
    except ImportError:
        return "skipped: torch absent"
    weights = torch.tensor([0.0, 1.0, 1.0, 1.0, 0.5])

    def loss(data, logprobs):
        return -(logprobs[0] * weights).sum(), {"mine": 1.0}

    data = [datum(target_tokens=TARGETS, weights=[0.0, 1.0, 1.0, 1.0, 0.5])]
    output = Shared.training.forward_backward_custom(data, loss).result()
    assert output.metrics["mine"] == 1.0
    custom = Shared.training.optim_step(types.AdamParams(learning_rate=0.0)).result().metrics
    Shared.training.forward_backward([weighted()], "cross_entropy").result()
    built_in = Shared.training.optim_step(types.AdamParams(learning_rate=0.0)).result().metrics
    key = next(key for key in custom if "grad_norm" in key)
    close([custom[key]], [built_in[key]], 1e-3)


@check("save_state, load_state, load_state_with_optimizer restore the logprobs")
def _():
    before = logprobs_of(Shared.training.forward([weighted()], "cross_entropy").result())
    Shared.state_path = Shared.training.save_state("conformance").result().path
    assert Shared.state_path.startswith("tinker://"), Shared.state_path
    for load in (Shared.training.load_state, Shared.training.load_state_with_optimizer):
        Shared.training.forward_backward([policy()], "importance_sampling").result()
        Shared.training.optim_step(types.AdamParams(learning_rate=1e-2)).result()
        load(Shared.state_path).result()
        close(logprobs_of(Shared.training.forward([weighted()], "cross_entropy").result()), before, 1e-5)


@check("create_training_client_from_state, with and without optimizer")
def _():
    before = logprobs_of(Shared.training.forward([weighted()], "cross_entropy").result())
    for create in (
        Shared.service.create_training_client_from_state,
        Shared.service.create_training_client_from_state_with_optimizer,
    ):
        client = create(Shared.state_path)
        close(logprobs_of(client.forward([weighted()], "cross_entropy").result()), before, 1e-5)


@check("save_weights_for_sampler, then sampling by its path: the trained logprobs")
def _():
    Shared.sampler_path = Shared.training.save_weights_for_sampler("conformance").result().path
    assert "/sampler_weights/" in Shared.sampler_path, Shared.sampler_path
    sampler = Shared.service.create_sampling_client(model_path=Shared.sampler_path)
    trained = logprobs_of(Shared.training.forward([weighted()], "cross_entropy").result())
    got = sampler.compute_logprobs(types.ModelInput.from_ints(PROMPT + TARGETS[-1:])).result()
    assert got[0] is None and len(got) == 6, got
    close(got[1:], trained, 1e-3)


@check("save_weights_and_get_sampling_client")
def _():
    sampler = Shared.training.save_weights_and_get_sampling_client()
    params = types.SamplingParams(max_tokens=4, temperature=0.0)
    response = sampler.sample(prompt(), num_samples=1, sampling_params=params).result()
    assert len(response.sequences) == 1 and len(response.sequences[0].tokens) <= 4


def base_sampler():
    return Shared.service.create_sampling_client(base_model=BASE_MODEL)


@check("sample: num_samples, max_tokens, logprobs, stop_reason length")
def _():
    params = types.SamplingParams(max_tokens=3, temperature=1.0, seed=3, stop=[])
    response = base_sampler().sample(prompt(), num_samples=4, sampling_params=params).result()
    assert len(response.sequences) == 4
    for sequence in response.sequences:
        assert len(sequence.tokens) == len(sequence.logprobs) == 3
        assert sequence.stop_reason == "length"


@check("sample: one seed gives one answer, temperature 0 and top_k 1 are greedy, top_p narrows")
def _():
    sampler = base_sampler()

    def tokens(**options):
        params = types.SamplingParams(max_tokens=6, **options)
        response = sampler.sample(prompt(), num_samples=1, sampling_params=params).result()
        return list(response.sequences[0].tokens)

    assert tokens(seed=5) == tokens(seed=5)
    greedy = tokens(temperature=0.0)
    assert greedy == tokens(top_k=1, seed=1) == tokens(top_k=1, seed=2) == tokens(top_p=1e-6, seed=3)


@check("sample: a stop token is the last token, reason stop; a string stop is accepted")
def _():
    sampler = base_sampler()
    greedy = types.SamplingParams(max_tokens=6, temperature=0.0)
    tokens = list(sampler.sample(prompt(), num_samples=1, sampling_params=greedy).result().sequences[0].tokens)
    params = types.SamplingParams(max_tokens=6, temperature=0.0, stop=[tokens[0]])
    stopped = sampler.sample(prompt(), num_samples=1, sampling_params=params).result().sequences[0]
    assert list(stopped.tokens) == tokens[:1] and stopped.stop_reason == "stop", stopped
    for stop in ("zzz", ["zzz", "yyy"]):
        params = types.SamplingParams(max_tokens=2, temperature=0.0, stop=stop)
        sampler.sample(prompt(), num_samples=1, sampling_params=params).result()


@check("sample: prompt logprobs and top-k prompt logprobs")
def _():
    response = base_sampler().sample(
        prompt(),
        num_samples=1,
        sampling_params=types.SamplingParams(max_tokens=1),
        include_prompt_logprobs=True,
        topk_prompt_logprobs=3,
    ).result()
    assert response.prompt_logprobs[0] is None and len(response.prompt_logprobs) == 5
    topk = response.topk_prompt_logprobs
    assert len(topk) == 5 and not topk[0] and all(len(row) == 3 for row in topk[1:]), topk


@check("listings: runs, their checkpoints, all checkpoints")
def _():
    rest = Shared.service.create_rest_client()
    run_id = Shared.state_path.split("/")[2]
    runs = rest.list_training_runs().result()
    assert run_id in [run.training_run_id for run in runs.training_runs]
    run = rest.get_training_run(run_id).result()
    assert run.lora_rank == 8 and run.base_model == BASE_MODEL and not run.corrupted, run
    ids = [checkpoint.checkpoint_id for checkpoint in rest.list_checkpoints(run_id).result().checkpoints]
    assert sorted(ids) == ["sampler_weights/conformance", "weights/conformance"], ids
    paths = [checkpoint.tinker_path for checkpoint in rest.list_user_checkpoints().result().checkpoints]
    assert Shared.state_path in paths and Shared.sampler_path in paths


def now(client):
    """Newer SDKs answer with a future that is a client as well."""
    return client.result() if hasattr(client, "result") else client


@check("sample: the model's end of sequence ends it without stops and with strings, not with an empty list")
def _():
    sampler = base_sampler()

    def ended(**options):
        params = types.SamplingParams(max_tokens=100, temperature=1.5, seed=1, **options)
        response = sampler.sample(prompt(), num_samples=64, sampling_params=params).result()
        return any(sequence.stop_reason == "stop" for sequence in response.sequences)

    assert ended() and ended(stop=["no text has this"]) and not ended(stop=[])


@check("a sampling client of a path names its base model as well")
def _():
    sampler = Shared.service.create_sampling_client(model_path=Shared.sampler_path, base_model=BASE_MODEL)
    params = types.SamplingParams(max_tokens=2)
    assert sampler.sample(prompt(), num_samples=1, sampling_params=params).result().sequences
    fails(
        lambda: now(Shared.service.create_sampling_client(model_path=Shared.sampler_path, base_model="nobody/else")),
        "base_model",
    )


@check("cross_entropy of K candidates: log-probabilities (N, K), elementwise_loss (N)")
def _():
    import numpy

    inputs = {
        "target_tokens": numpy.array([[a, 3] for a in TARGETS], dtype=numpy.int64),
        "weights": numpy.array([[1.0, 0.0] for _ in TARGETS], dtype=numpy.float32),
    }
    soft = types.Datum(model_input=types.ModelInput.from_ints(PROMPT), loss_fn_inputs=inputs)
    output = Shared.training.forward([soft], "cross_entropy").result()
    record = output.loss_fn_outputs[0]
    assert list(record["logprobs"].shape) == [5, 2], record["logprobs"].shape
    hard = datum(target_tokens=TARGETS, weights=[1.0] * 5)
    expected = logprobs_of(Shared.training.forward([hard], "cross_entropy").result())
    close([float(x) for x in record["logprobs"].data][::2], expected)
    close([-float(x) for x in record["elementwise_loss"].data], expected)


def version():
    return tuple(int(part) for part in importlib.metadata.version("tinker").split(".")[:2])


@check("a model made from a state has one name: its own, its run's, its session's")
def _():
    client = Shared.service.create_training_client_from_state(Shared.state_path)
    name = client.get_info().model_id
    path = client.save_state("named").result().path
    assert path == f"tinker://{name}/weights/named", (name, path)
    rest = Shared.service.create_rest_client()
    assert rest.get_training_run(name).result().training_run_id == name
    ids = [one.checkpoint_id for one in rest.list_checkpoints(name).result().checkpoints]
    assert ids == ["weights/named"], ids
    session = name.rsplit(":train:", 1)[0]
    assert rest.get_session(session).result().training_run_ids.count(name) == 1
    fails(lambda: rest.list_checkpoints("nobody").result(), "no training run")
    assert rest.list_sessions().result().sessions[0] == session


@check("inflight samplers follow the weights that are published later")
def _():
    if version() < (0, 38):
        return "skipped: this SDK has snapshots alone"
    client = Shared.service.create_lora_training_client(base_model=BASE_MODEL, rank=8, seed=7)
    first = client.save_weights_and_get_sampling_client(kind="inflight")
    scored = types.ModelInput.from_ints(PROMPT + TARGETS[-1:])
    before = first.compute_logprobs(scored).result()[1:]
    client.forward_backward([weighted()], "cross_entropy").result()
    client.optim_step(types.AdamParams(learning_rate=1e-2)).result()
    close(first.compute_logprobs(scored).result()[1:], before, 0)
    now(client.save_weights_and_get_sampling_client(kind="inflight"))
    assert first.compute_logprobs(scored).result()[1:] != before


@check("a datum with provenance is read")
def _():
    if version() < (0, 38):
        return "skipped: this SDK has no provenance"
    sampler = Shared.training.save_weights_and_get_sampling_client()
    params = types.SamplingParams(max_tokens=3, stop=[])
    sequence = sampler.sample(prompt(), num_samples=1, sampling_params=params).result().sequences[0]
    whole = types.PromptProvenanceSpan(sequence_id=sequence.sequence_id, length=5)
    traced = weighted().with_provenance(model_input=[whole], loss_fn_inputs=[whole])
    Shared.training.forward([traced], "cross_entropy").result()


@check("refused by name: other optimizers, losses and fields that this server does not have")
def _():
    if version() < (0, 38):
        return "skipped: this SDK has none of them"
    fails(
        lambda: Shared.training.optim_step(types.DimuonParams(learning_rate=1e-3)).result(),
        "dimuon",
    )
    fails(lambda: Shared.training.forward_backward([policy()], "stable_reinforce").result(), "stable_reinforce")
    sampler = base_sampler()
    params = types.SamplingParams(max_tokens=1)
    fails(lambda: sampler.sample(prompt(), num_samples=1, sampling_params=params, prompt_alt_tokens_k=2).result(),
          "prompt_alt_tokens_k")
    Shared.training.forward([weighted()], "cross_entropy").result()


@check("copy_weights: into a session, as a run of its own; refused by name into a project, as this server has none")
def _():
    if version() < (0, 38):
        return "skipped: this SDK does not copy"
    from tinker.lib.internal_client_holder import ClientConnectionPoolType

    source = Shared.training.save_state("to-copy").result().path
    rest = tinker.RestClient()
    service = tinker.ServiceClient(project_id="archive")
    fails(lambda: rest.copy_weights(source, "archive").result(), "destination_project_id")
    fails(lambda: rest.copy_weights(source, "archive", ttl_seconds=3600).result(), "destination_project_id")
    fails(lambda: service.copy_weights(source).result(), "destination_project_id")
    session = Shared.training.get_info().model_id.rsplit(":train:", 1)[0]
    request = types.CopyWeightsRequest(session_id=session, model_seq_id=77, source_path=source)

    async def copy():
        with rest.holder.aclient(ClientConnectionPoolType.TRAIN) as client:
            return await client.models.copy_weights(request=request)

    copied = rest.holder.run_coroutine_threadsafe(copy()).result().tinker_path
    assert copied == f"tinker://{session}:train:77/weights/to-copy", copied
    assert rest.get_weights_info_by_tinker_path(copied).result().lora_rank == 8
    [checkpoint] = rest.list_checkpoints(f"{session}:train:77").result().checkpoints
    assert checkpoint.tinker_path == copied, checkpoint
    again = Shared.service.create_training_client_from_state(copied)
    close(logprobs_of(again.forward([weighted()], "cross_entropy").result()),
          logprobs_of(Shared.training.forward([weighted()], "cross_entropy").result()))


@check("a session finishes with its outcome and is found")
def _():
    if version() < (0, 38):
        return "skipped: this SDK does not finish sessions"
    service = tinker.ServiceClient(display_name="conformance of sessions")
    client = service.create_lora_training_client(base_model=BASE_MODEL, rank=8)
    session = client.get_info().model_id.rsplit(":train:", 1)[0]
    rest = tinker.RestClient()
    service.close("errored", "as planned").result()
    query = types.SessionSearchRequest(display_name="CONFORMANCE sessions")
    found = [one for one in rest.search_sessions(query).result().sessions if one.session_id == session]
    assert len(found) == 1 and found[0].status.type == "client_finished", found
    assert found[0].status.reason.type == "errored" and found[0].status.detail == "as planned", found


@check("user metadata that this project's client gave to its session, run and checkpoint")
def _():
    if version() < (0, 38):
        return "skipped: this SDK has no search"
    rest = tinker.RestClient()
    query = types.SessionSearchRequest(user_metadata={"recipe": "sums"}, owner=types.AccessibleSearchOwner())
    [session] = rest.search_sessions(query).result().sessions
    assert session.display_name == "written by effect-rl", session
    assert session.user_metadata == {"recipe": "sums"}, session
    [run] = rest.get_session(session.session_id).result().training_run_ids
    assert rest.get_training_run(run).result().user_metadata == {"commit": "a1b2"}, run
    [checkpoint] = rest.list_checkpoints(run).result().checkpoints
    assert checkpoint.user_metadata == {"iteration": "3"}, checkpoint


ADAPTER = {"adapter_config.json", "adapter_model.safetensors"}


def download(url, **headers):
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers)) as response:
        return response.read()


@check("archive: a tar with the adapter, which resumes in the middle")
def _():
    rest = Shared.service.create_rest_client()
    if not hasattr(rest, "get_checkpoint_archive_url_from_tinker_path"):
        return "skipped: this SDK has no archives"
    url = rest.get_checkpoint_archive_url_from_tinker_path(Shared.sampler_path).result().url
    whole = download(url)
    assert ADAPTER <= set(tarfile.open(fileobj=io.BytesIO(whole)).getnames())
    assert download(url, Range="bytes=5000-") == whole[5000:]


@check("external weights: saved, and each file downloaded")
def _():
    rest = Shared.service.create_rest_client()
    if not hasattr(Shared.training, "save_weights_external"):
        return "skipped: this SDK has archives instead"
    path = Shared.training.save_weights_external("exported", ttl_seconds=3600).result().path
    urls = rest.get_external_weights_urls(path).result().urls
    assert ADAPTER <= set(urls), urls
    assert json.loads(download(urls["adapter_config.json"]))["r"] == 8
    rest.delete_checkpoint_from_tinker_path(path).result()


@check("a time to live is set and taken away, a checkpoint published and taken back, then deleted")
def _():
    rest = Shared.service.create_rest_client()

    def listed():
        found = rest.list_user_checkpoints().result().checkpoints
        return next((one for one in found if one.tinker_path == Shared.sampler_path), None)

    rest.set_checkpoint_ttl_from_tinker_path(Shared.sampler_path, 3600).result()
    assert listed().expires_at is not None
    rest.set_checkpoint_ttl_from_tinker_path(Shared.sampler_path, None).result()
    assert listed().expires_at is None
    rest.publish_checkpoint_from_tinker_path(Shared.sampler_path).result()
    assert listed().public
    rest.unpublish_checkpoint_from_tinker_path(Shared.sampler_path).result()
    assert not listed().public
    rest.delete_checkpoint_from_tinker_path(Shared.sampler_path).result()
    assert listed() is None


@check("sessions and samplers are listed")
def _():
    rest = Shared.service.create_rest_client()
    run_id = Shared.state_path.split("/")[2]
    sessions = rest.list_sessions().result().sessions
    mine = [one for one in sessions if run_id in rest.get_session(one).result().training_run_ids]
    assert len(mine) == 1, sessions
    sampler_ids = rest.get_session(mine[0]).result().sampler_ids
    assert sampler_ids and rest.get_sampler(sampler_ids[0]).result().base_model == BASE_MODEL


@check("what checkpoints take is told, and the empty list of a run that has lost its own")
def _():
    if version() < (0, 38):
        return "skipped: this SDK does not ask"
    service = tinker.ServiceClient()
    run = service.create_lora_training_client(base_model=BASE_MODEL, rank=8)
    path = run.save_state("only").result().path
    rest = tinker.RestClient()
    (usage,) = tinker.AdminClient().get_current_checkpoint_storage_usage().result().data
    assert usage.checkpoint_count >= 1 and usage.size_bytes > 0 and usage.size_gigabytes > 0, usage
    rest.delete_checkpoint_from_tinker_path(path).result()
    service.close("success").result()
    assert rest.list_checkpoints(path.split("/")[2]).result().checkpoints == []


@check("a sampler's handle makes another client, whose requests have numbers of their own")
def _():
    if version() < (0, 38):
        return "skipped: this SDK has no handles"
    sampler = base_sampler()
    params = types.SamplingParams(max_tokens=4, seed=1)
    first = sampler.sample(prompt(), 1, params).result()
    again = tinker.SamplingClient.from_sampler_handle(sampler.get_sampler_handle())
    second = again.sample(prompt(), 1, params).result()
    assert second.sequences[0].tokens == first.sequences[0].tokens
    assert second.sequences[0].sequence_id != first.sequences[0].sequence_id


def fails(function, *texts):
    try:
        function()
    except Exception as error:  # noqa: BLE001
        message = str(error)
        for text in texts:
            assert text in message, message
        return
    raise AssertionError("did not fail")


@check("errors: a token id too large, an existing name, an unknown checkpoint, a loss key")
def _():
    wrong = types.Datum(
        model_input=types.ModelInput.from_ints([999_999]),
        loss_fn_inputs={"target_tokens": [1], "weights": [1.0]},
    )
    fails(lambda: Shared.training.forward_backward([wrong], "cross_entropy").result(), "999999")
    fails(lambda: Shared.training.save_state("conformance").result(), "already exists")
    fails(lambda: Shared.training.load_state("tinker://nobody/weights/nothing").result(), "no checkpoint")
    fails(lambda: Shared.training.forward_backward([policy()], "ppo", {"epsilon": 1.0}).result(), "epsilon")
    Shared.training.forward([weighted()], "cross_entropy").result()


print(json.dumps({"sdk": importlib.metadata.version("tinker")}), flush=True)
for name, function in checks:
    try:
        outcome = function()
        print(json.dumps({"name": name, "outcome": outcome or "passed"}), flush=True)
    except Exception as error:  # noqa: BLE001
        detail = traceback.format_exc()
        print(json.dumps({"name": name, "outcome": "failed", "error": repr(error)[:300], "trace": detail[-1500:]}), flush=True)
os._exit(0)

"""Opens what `effect-rl export` wrote with the tools that it was written for. Called by readers.mjs, which says what must be found."""

import json
import os
import sys
from pathlib import Path

out = Path(sys.argv[1])
expected = json.loads(sys.argv[2])
os.environ["TRACKIO_DIR"] = str(out / "trackio")
os.environ.setdefault("TINKER_API_KEY", "tml-local")
checks = []


def check(requires):
    def decorate(function):
        checks.append((function.__doc__, requires, function))
        return function

    return decorate


def equal(found, wanted, what):
    if found != wanted:
        raise AssertionError(f"{what}: found {found!r}, expected {wanted!r}")


@check("tensorboard")
def tensorboard():
    """TensorBoard's loader"""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(next((out / "tensorboard").iterdir())))
    events.Reload()
    rewards = events.Scalars("env/all/reward/total")
    equal([event.step for event in rewards], list(range(expected["iterations"])), "steps")
    for event, reward in zip(rewards, expected["rewards"]):
        assert abs(event.value - reward) < 1e-6, f"step {event.step}: {event.value} instead of {reward}"
    scores = [events.Scalars(tag) for tag in events.Tags()["scalars"] if tag.endswith("/score")]
    equal(sum(map(len, scores)), expected["evaluations"], "evaluations")


@check("trackio")
def trackio():
    """Trackio's own storage"""
    from trackio.sqlite_storage import SQLiteStorage

    equal(SQLiteStorage.get_projects(), ["effect-rl"], "projects")
    equal(SQLiteStorage.get_runs("effect-rl"), [expected["run"]], "runs")
    logs = SQLiteStorage.get_logs("effect-rl", expected["run"])
    rewards = [log["env/all/reward/total"] for log in logs if "env/all/reward/total" in log]
    equal(rewards, expected["rewards"], "rewards")
    equal(SQLiteStorage.get_run_config("effect-rl", expected["run"])["model"], expected["model"], "model")
    traces = SQLiteStorage.get_traces("effect-rl", expected["run"])
    assert len(traces) > 0 and traces[0]["messages"][0]["role"] == "user", "no traces"


@check("inspect_ai")
def inspect():
    """Inspect's read_eval_log"""
    from inspect_ai.log import list_eval_logs, read_eval_log, read_eval_log_sample_summaries

    logs = list_eval_logs(str(out / "inspect"))
    equal(len(logs), expected["iterations"] + expected["evaluations"], "logs")
    rollouts = 0
    for info in logs:
        log = read_eval_log(info)
        equal(log.status, "success", "status")
        equal(log.eval.model, expected["model"], "model")
        equal(len(read_eval_log_sample_summaries(info)), len(log.samples), "summaries")
        for sample in log.samples:
            assert sample.messages[-1].role == "assistant" and sample.scores["reward"].value is not None
        rollouts += len(log.samples)
    equal(rollouts, expected["rollouts"], "rollouts")


@check("tinker_cookbook")
def cookbook():
    """tinker-cookbook's run discovery and stores"""
    from tinker_cookbook.stores.registry import RunRegistry
    from tinker_cookbook.stores.storage import LocalStorage

    registry = RunRegistry([LocalStorage(out / "cookbook")])
    runs = registry.get_runs()
    equal(len(runs), 1, "runs")
    equal((runs[0].training_type, runs[0].has_checkpoints, runs[0].has_timing), ("rl", True, True), "what the run has")
    store = registry.get_training_store(runs[0].run_id)
    trained = [one for one in store.list_iterations() if one.has_train_rollouts and one.has_train_logtree]
    equal(len(trained), expected["iterations"], "iterations with rollouts and logtree")
    summaries = store.read_rollouts(0)
    mean = sum(one["total_reward"] for one in summaries) / len(summaries)
    assert abs(mean - expected["rewards"][0]) < 1e-9, f"mean reward {mean}"
    tree = json.dumps(store.read_logtree(0))
    equal(tree.count('"type": "conversation"'), len(summaries), "conversations in the logtree")
    equal(len(store.read_checkpoint_records()), expected["checkpoints"], "checkpoints")


@check("tinkerscope")
def tinkerscope():
    """tinkerscope's run discovery"""
    from tinkerscope.api import discovery

    run = discovery._build_run(out / "cookbook", out / "cookbook/checkpoints.jsonl", set(), False, None)
    equal(run.base_model, expected["model"], "base model")
    equal(run.num_checkpoints, expected["checkpoints"], "checkpoints")
    equal(run.config_error, None, "error of the configuration")


@check("pyarrow")
def parquet():
    """pyarrow"""
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(out / "rollouts.parquet")
    equal(table.num_rows, expected["rollouts"], "rows")
    row = table.slice(0, 1).to_pylist()[0]
    equal(len(row["sampled_tokens"]), row["response_tokens"], "sampled tokens")
    equal(len(row["logprobs"]), row["response_tokens"], "log-probabilities")
    assert isinstance(row["responses"][0], str) and isinstance(row["tags"], list)


@check("opentelemetry.proto")
def otlp():
    """OpenTelemetry's protobuf definitions"""
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    spans = []
    for file in sorted((out / "otlp").glob("*.pb")):
        request = ExportTraceServiceRequest()
        request.ParseFromString(file.read_bytes())
        for resource in request.resource_spans:
            for scope in resource.scope_spans:
                spans.extend(scope.spans)
    ids = {span.span_id for span in spans}
    equal(len(ids), len(spans), "different ids")
    orphans = [span.name for span in spans if span.parent_span_id and span.parent_span_id not in ids]
    equal(orphans, [], "spans without their parents")
    members = [span for span in spans if span.name == "invoke_agent"]
    equal(len(members), expected["rollouts"], "members")
    for span in spans:
        assert len(span.trace_id) == 16 and 0 < span.start_time_unix_nano <= span.end_time_unix_nano, span.name


@check("verifiers")
def verifiers():
    """verifiers' Trace"""
    from verifiers.v1 import WireTrace

    traces = [WireTrace.model_validate_json(line) for line in (out / "traces.jsonl").read_text().splitlines()]
    equal(len(traces), expected["rollouts"], "traces")
    for trace in traces:
        (branch,) = trace.branches
        equal(len(branch.token_ids), len(branch.sampled_mask), "mask")
        equal(sum(branch.sampled_mask), len([1 for value, on in zip(branch.logprobs, branch.sampled_mask) if on]), "logprobs")
    assert any(trace.branches[0].advantages for trace in traces), "no advantages"


@check("mlflow")
def mlflow():
    """a server of MLflow on loopback"""
    if expected["mlflow"] is None:
        raise ImportError("mlflow server")
    from mlflow.tracking import MlflowClient

    client = MlflowClient(expected["mlflow"])
    (run,) = client.search_runs([client.get_experiment_by_name("effect-rl").experiment_id])
    equal(run.info.status, "FINISHED", "status")
    equal(run.data.params["model"], expected["model"], "model")
    history = sorted(client.get_metric_history(run.info.run_id, "env/all/reward/total"), key=lambda one: one.step)
    equal([one.value for one in history], expected["rewards"], "rewards")


@check("json")
def perfetto():
    """the trace event format, as Perfetto reads an array without its end"""
    events = json.loads((out / "perfetto.json").read_text().rstrip().rstrip(",") + "]")
    tracks = {}
    for event in events:
        if event["ph"] == "X":
            track = tracks.setdefault((event["pid"], event["tid"]), [])
            track.append((event["ts"], -event["dur"]))
    for spans in tracks.values():
        around = []
        for start, length in sorted(spans):
            while around and around[-1] <= start:
                around.pop()
            assert not around or start - length <= around[-1], "spans of one track overlap"
            around.append(start - length)
    turns = [event for event in events if event["ph"] == "X" and event["name"].startswith("chat ")]
    assert len(turns) >= expected["rollouts"], "fewer turns than rollouts"
    equal(sum(1 for event in events if event["ph"] == "C"), expected["iterations"], "rewards")


@check("json")
def chat():
    """chat lines"""
    lines = [json.loads(line) for line in (out / "chat.jsonl").read_text().splitlines()]
    equal(len(lines), expected["rollouts"], "conversations")
    assert all(message["role"] in ("user", "assistant") for line in lines for message in line["messages"])
    assert any(line["advantage"] not in (None, 0) for line in lines), "no advantages"


for name, requires, function in checks:
    try:
        __import__(requires)
        function()
        outcome, error = "passed", None
    except ImportError as failure:
        outcome, error = "skipped", f"not installed: {failure.name or failure}"
    except Exception as failure:
        outcome, error = "failed", f"{type(failure).__name__}: {failure}"
    print(json.dumps({"name": name, "outcome": outcome, "error": error}), flush=True)

"""Opens what `effect-rl export` wrote with the tools that it was written for, and compares what they read with what happened, which
happened.py reads from the raw records: of a run with one turn, one with calls of a tool, and one of several turns. Called by readers.mjs."""

import json
import os
import re
import sys
from pathlib import Path

import happened

# Files beside this one must not stand in for packages, as requests.py would.
sys.path.pop(0)

out = Path(sys.argv[1])
expected = json.loads(sys.argv[2])
os.environ["TRACKIO_DIR"] = str(out / "trackio")
os.environ.setdefault("TINKER_API_KEY", "tml-local")
checks = []
happenings = {
    run["name"]: happened.members(run["folder"], happened.Vocabulary(run["tokenizer"])) for run in expected["runs"]
}


def check(requires):
    def decorate(function):
        checks.append((function.__doc__, requires, function))
        return function

    return decorate


def equal(found, wanted, what):
    if found != wanted:
        raise AssertionError(f"{what}: found {found!r}, expected {wanted!r}")


def parsed(given):
    return json.loads(given) if isinstance(given, str) else given


def text_of(content):
    if content is None or isinstance(content, str):
        return content or ""
    parts = [part if isinstance(part, dict) else part.model_dump() for part in content]
    return "".join(part.get("text") or "" for part in parts)


def plain(text):
    """A text without the special tokens that a policy wrote into it."""
    return re.sub(r"<\|\w+\|>", "", text).strip()


def told(message):
    """A message of any of the formats as happened.py has it."""
    one = message if isinstance(message, dict) else message.model_dump()
    calls = [call if "function" not in call or isinstance(call["function"], str) else call["function"] for call in one.get("tool_calls") or []]
    names = [(call["function"] if isinstance(call.get("function"), str) else call["name"], parsed(call["arguments"])) for call in calls]
    return {"role": one["role"], "text": plain(text_of(one.get("content"))), "calls": names}


def compare(name, key, messages):
    """Compares a conversation with what the policy read and wrote; answers of tools after its last response are in no prompt."""
    wanted = happenings[name][key]["messages"]
    found = [told(message) for message in messages]
    for at, (one, other) in enumerate(zip(found, wanted)):
        equal(one, other, f"{name}, {key}, message {at}")
    left = found[len(wanted) :]
    equal([one["role"] for one in left if one["role"] != "tool"], [], f"{name}, {key}, messages after the last response")
    assert len(found) >= len(wanted), f"{name}, {key}: {len(found)} messages, expected {len(wanted)}"


def offered(name, key, tools):
    """Compares the tools that the policy was told of."""
    equal([(tool["name"], tool["description"], tool["parameters"]) for tool in tools], [
        (tool["name"], tool["description"], tool["parameters"]) for tool in happenings[name][key]["tools"]
    ], f"{name}, {key}, tools")


def counted(name, keys):
    """All that finished were read, and the conversations of the tool run had calls."""
    equal(sorted(map(str, keys)), sorted(map(str, happenings[name])), f"{name}, rollouts")


@check("tensorboard")
def tensorboard():
    """TensorBoard's loader"""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(next((out / expected["run"] / "tensorboard").iterdir())))
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
    logs = SQLiteStorage.get_logs("effect-rl", expected["run"])
    rewards = [log["env/all/reward/total"] for log in logs if "env/all/reward/total" in log]
    equal(rewards, expected["rewards"], "rewards")
    equal(SQLiteStorage.get_run_config("effect-rl", expected["run"])["model"], expected["model"], "model")
    equal(sorted(SQLiteStorage.get_runs("effect-rl")), sorted(happenings), "runs")
    for name, members in happenings.items():
        keys = []
        for trace in SQLiteStorage.get_traces("effect-rl", name, limit=100_000):
            told, spans = trace["metadata"], trace["spans"]
            evaluator = None if trace["key"] == "rollouts" else trace["key"]
            key = (trace["step"], evaluator, told["group"], told["member"])
            keys.append(key)
            compare(name, key, trace["messages"])
            offered(name, key, [tool["function"] for tool in told["tools"]])
            turns = members[key]["turns"]
            equal(told["reward"], members[key]["reward"], f"{name}, {key}, reward")
            generations = [span for span in spans if span["kind"] == "generation"]
            equal([span["usage"]["output_tokens"] for span in generations], [len(turn["tokens"]) for turn in turns], "tokens")
            first, last = turns[0]["times"], turns[-1]["times"]
            lasted = last["began"] + last["sampling"] + last["environment"] - first["began"]
            equal(told["duration_ms"], lasted, f"{name}, {key}, duration")
            calls = sum(len(message["calls"]) for message in members[key]["messages"])
            equal(len([span for span in spans if span["kind"] == "tool"]), calls, f"{name}, {key}, spans of tools")
        counted(name, keys)


@check("inspect_ai")
def inspect():
    """Inspect's read_eval_log"""
    from inspect_ai.log import list_eval_logs, read_eval_log, read_eval_log_sample_summaries

    for name, members in happenings.items():
        keys = []
        for info in list_eval_logs(str(out / name / "inspect")):
            log = read_eval_log(info)
            equal(log.status, "success", "status")
            equal(log.eval.model, expected["models"][name], "model")
            equal(len(read_eval_log_sample_summaries(info)), len(log.samples), "summaries")
            about = log.eval.metadata
            for sample in log.samples:
                key = (about["iteration"], about["evaluator"], sample.id, sample.epoch - 1)
                keys.append(key)
                member = members[key]
                compare(name, key, sample.messages)
                offered(name, key, sample.metadata["tools"])
                equal(sample.scores["reward"].value, member["reward"], f"{name}, {key}, reward")
                equal(sample.metadata["advantage"], member["advantage"], f"{name}, {key}, advantage")
                shared = members[about["iteration"], about["evaluator"], sample.id, 0]["reference"]
                equal(sample.target, member["reference"] or shared or "", f"{name}, {key}, target")
                (usage,) = sample.model_usage.values()
                equal(usage.output_tokens, sum(len(turn["tokens"]) for turn in member["turns"]), f"{name}, {key}, tokens")
                said = [message for message in member["messages"] if message["role"] == "assistant"]
                equal(plain(sample.output.completion), said[-1]["text"], f"{name}, {key}, completion")
        counted(name, keys)


def conversations(node):
    """The conversations of a logtree, in their order."""
    if isinstance(node, dict):
        data = node.get("data")
        if isinstance(data, dict) and data.get("type") == "conversation":
            yield data["messages"]
        for child in node.values():
            yield from conversations(child)
    elif isinstance(node, list):
        for child in node:
            yield from conversations(child)


@check("tinker_cookbook")
def cookbook():
    """tinker-cookbook's run discovery and stores"""
    from tinker_cookbook.stores.registry import RunRegistry
    from tinker_cookbook.stores.storage import LocalStorage

    registry = RunRegistry([LocalStorage(out / expected["run"] / "cookbook")])
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
    for name, members in happenings.items():
        (found,) = RunRegistry([LocalStorage(out / name / "cookbook")]).get_runs()
        store = RunRegistry([LocalStorage(out / name / "cookbook")]).get_training_store(found.run_id)
        wanted = {key: member for key, member in members.items() if key[1] is None}
        for iteration in sorted({key[0] for key in wanted}):
            keys = [key for key in wanted if key[0] == iteration]
            told = list(conversations(store.read_logtree(iteration)))
            equal(len(told), len(keys), f"{name}, iteration {iteration}, conversations")
            summaries = store.read_rollouts(iteration)
            for key, messages, summary in zip(keys, told, summaries):
                compare(name, key, messages)
                equal(summary["total_reward"], wanted[key]["reward"], f"{name}, {key}, reward")
                lengths = [step["ac_len"] for step in summary["steps"]]
                equal(lengths, [len(turn["tokens"]) for turn in wanted[key]["turns"]], f"{name}, {key}, tokens")


@check("tinkerscope")
def tinkerscope():
    """tinkerscope's run discovery"""
    from tinkerscope.api import discovery

    run = discovery._build_run(out / expected["run"] / "cookbook", out / expected["run"] / "cookbook/checkpoints.jsonl", set(), False, None)
    equal(run.base_model, expected["model"], "base model")
    equal(run.num_checkpoints, expected["checkpoints"], "checkpoints")
    equal(run.config_error, None, "error of the configuration")


@check("pyarrow")
def parquet():
    """pyarrow"""
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(out / expected["run"] / "rollouts.parquet")
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

    for name, members in happenings.items():
        keys = []
        for line in (out / name / "traces.jsonl").read_text().splitlines():
            trace = WireTrace.model_validate_json(line)
            about = trace.info
            key = (about["iteration"], about["evaluator"], json.loads(line)["task"]["key"], about["member"])
            keys.append(key)
            member = members[key]
            branch = trace.branches[-1]
            last = member["turns"][-1]
            compare(name, key, branch.messages)
            offered(name, key, [tool.model_dump() for tool in trace.tools])
            equal(list(branch.token_ids), last["prompt"] + last["tokens"], f"{name}, {key}, tokens")
            equal(len(branch.token_ids), len(branch.sampled_mask), "mask")
            equal(list(branch.token_ids)[-len(last["tokens"]) :], last["tokens"], f"{name}, {key}, response")
            assert all(list(branch.sampled_mask)[-len(last["tokens"]) :]), f"{name}, {key}: the response is not marked as sampled"
            equal(trace.reward, member["reward"], f"{name}, {key}, reward")
            if member["advantage"] is not None:
                equal(set(branch.advantages[-len(last["tokens"]) :]), {member["advantage"]}, f"{name}, {key}, advantages")
        counted(name, keys)


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
    events = json.loads((out / expected["run"] / "perfetto.json").read_text().rstrip().rstrip(",") + "]")
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
    for name, members in happenings.items():
        keys = []
        for line in map(json.loads, (out / name / "chat.jsonl").read_text().splitlines()):
            key = (line["iteration"], line["evaluator"], line["group"], line["member"])
            keys.append(key)
            compare(name, key, line["messages"])
            offered(name, key, [tool["function"] for tool in line.get("tools", [])])
            equal(line["reward"], members[key]["reward"], f"{name}, {key}, reward")
            equal(line["advantage"], members[key]["advantage"], f"{name}, {key}, advantage")
        counted(name, keys)
    assert all(len(member["tools"]) > 0 for member in happenings["tool"].values()), "the tool run describes no tools"
    called = [call for member in happenings["tool"].values() for message in member["messages"] for call in message["calls"]]
    assert len(called) > 0 and any(len(member["turns"]) > 2 for member in happenings["turns"].values()), "nothing to compare"


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

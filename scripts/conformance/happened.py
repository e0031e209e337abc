"""What happened in a run, read from its raw records and the tokens of its payloads: nothing of the repository is used."""

import base64
import json
import re
import struct
from pathlib import Path


def byte_of():
    """The bytes that the characters of a byte-level vocabulary stand for."""
    shown = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [byte for byte in range(256) if byte not in shown]
    return {chr(byte): byte for byte in shown} | {chr(256 + index): byte for index, byte in enumerate(others)}


class Vocabulary:
    def __init__(self, file):
        described = json.loads(Path(file).read_text())
        self.pieces = {token: piece for piece, token in described["model"]["vocab"].items()}
        self.special = {one["id"]: one["content"] for one in described.get("added_tokens", [])}
        self.bytes = byte_of()

    def decode(self, tokens):
        parts = [
            self.special[token].encode() if token in self.special else bytes(self.bytes[one] for one in self.pieces[token])
            for token in tokens
        ]
        return b"".join(parts).decode("utf-8", "replace")


def numbers(kind, text):
    raw = base64.b64decode(text)
    return list(struct.unpack(f"<{len(raw) // 4}{kind}", raw))


def call_of(text):
    """A call of a tool as its name and arguments; None where it cannot be read."""
    try:
        call = json.loads(text)
        return (call["name"], call["arguments"]) if isinstance(call["arguments"], dict) else None
    except (ValueError, TypeError, KeyError):
        return None


def described(text):
    """A system prompt, and the tools that Qwen's template describes after it."""
    found = re.fullmatch(r"(.*?)(?:\n\n)?# Tools\n\n.*?<tools>\n(.*?)\n</tools>.*", text, re.DOTALL)
    return (text, []) if found is None else (found.group(1), [json.loads(line)["function"] for line in found.group(2).splitlines()])


def tools(text):
    """The tools that a prompt describes."""
    system = re.match(r"<\|im_start\|>system\n(.*?)<\|im_end\|>", text, re.DOTALL)
    return [] if system is None else described(system.group(1))[1]


def message_of(role, text):
    """Messages as Qwen's template writes them; one that only describes tools is none."""
    if role == "system":
        text, offered = described(text)
        if text == "" and offered != []:
            return []
    if role == "user" and "<tool_response>" in text:
        answers = re.findall(r"<tool_response>\n(.*?)\n</tool_response>", text, re.DOTALL)
        return [{"role": "tool", "text": answer, "calls": []} for answer in answers]
    calls = []

    def read(found):
        call = call_of(found.group(1))
        if call is None:
            return found.group(0)
        calls.append(call)
        return ""

    rest = re.sub(r"<tool_call>\n?(.*?)\n?</tool_call>", read, text, flags=re.DOTALL) if role not in ("system", "user") else text
    return [{"role": role if role in ("system", "user") else "assistant", "text": rest.strip(), "calls": calls}]


def conversation(text):
    """The messages of a prompt; special tokens that a policy wrote into an earlier answer leave no text."""
    parts = [part.split("<|im_end|>")[0] for part in re.split(r"<\|im_start\|>(?=\w+\n)", text) if part != ""]
    return [message for part in parts for message in message_of(*part.split("\n", 1))]


def response(text):
    return message_of("assistant", re.sub(r"<\|\w+\|>", "", re.sub(r"<\|im_end\|>$", "", text)))


def members(run, vocabulary):
    """Every member that finished, by iteration, evaluator, group and place in it; groups of updates in the order of their update."""
    run = Path(run)
    records = [json.loads(line) for line in (run / "records.jsonl").read_text().splitlines()]
    payloads = (run / "payloads.jsonl").read_bytes()
    advantages, places = {}, {}
    for record in records:
        if record["_tag"] == "Credited":
            for place, group in enumerate(record["groups"]):
                places[record["iteration"], None, group["key"]] = place
                for member, advantage in enumerate(group["advantages"]):
                    advantages[record["iteration"], None, group["key"], member] = advantage
    found = {}
    for record in records:
        if record["_tag"] != "GroupRolledOut" or "payload" not in record:
            continue
        place = record["payload"]
        group = json.loads(payloads[place["offset"] : place["offset"] + place["length"]])
        first = None
        for index, member in enumerate(group["members"]):
            if member is None:
                continue
            before = first
            turns = []
            for turn in member["turns"]:
                chunks = [
                    ([] if before is None or at >= len(before) else before[at])[: chunk["keep"]] + numbers("i", chunk["tokens"])
                    for at, chunk in enumerate(turn["prompt"])
                ]
                first = first or chunks
                prompt = [token for chunk in chunks for token in chunk]
                turns.append({**turn, "prompt": prompt, "tokens": numbers("i", turn["tokens"])})
                # The prompt of the next turn is a difference from this one's and its response.
                before = [*chunks, turns[-1]["tokens"]]
            key = (record["iteration"], record.get("evaluator"), record["key"], index)
            last = turns[-1]
            found[key] = {
                "reward": record["rewards"][index],
                "advantage": advantages.get(key),
                "reference": member.get("task", {}).get("reference"),
                "turns": turns,
                "tools": tools(vocabulary.decode(turns[0]["prompt"])),
                # The prompt ends with the head of an answer, which the response goes on with.
                "messages": conversation(vocabulary.decode(last["prompt"]))[:-1] + response(vocabulary.decode(last["tokens"])),
            }
    return dict(sorted(found.items(), key=lambda one: (one[0][0], places.get(one[0][:3], 0), one[0][3])))

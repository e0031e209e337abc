"""Records what upstream chat renderers produce, as the vectors of packages/core/test/fixtures/chat.

    python3 -m venv /tmp/record && /tmp/record/bin/pip install --no-deps tinker-cookbook==0.6.1
    /tmp/record/bin/pip install tinker==0.38.0 pillow tokenizers
    /tmp/record/bin/python scripts/record-chat.py OUTPUT_FOLDER [SEED]

Nothing is asked of the network while recording. Renderers get a tokenizer without a vocabulary: one id per code point, and
ids of their own for the added tokens of a model family. torch and transformers are stood in for by the few names that
renderers use of them. Two runs with one seed write the same bytes.
"""

import importlib.metadata
import json
import random
import re
import sys
import types
from pathlib import Path

FIRST_ADDED = 0x200000

FAMILIES = {
    "qwen": (
        ["<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|vision_start|>", "<|vision_end|>", "<|image_pad|>"],
        ["<think>", "</think>", "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"],
        None,
        "<|im_end|>",
    ),
    "ds4": (
        [
            "<｜begin▁of▁sentence｜>",
            "<｜end▁of▁sentence｜>",
            "<｜System｜>",
            "<｜User｜>",
            "<｜Assistant｜>",
            "<think>",
            "</think>",
            "｜DSML｜",
        ],
        [],
        "<｜begin▁of▁sentence｜>",
        "<｜end▁of▁sentence｜>",
    ),
    "glm": (
        ["[gMASK]", "<sop>", "<|system|>", "<|user|>", "<|assistant|>", "<|observation|>", "<|endoftext|>"],
        [
            "<think>",
            "</think>",
            "<tool_call>",
            "</tool_call>",
            "<tool_response>",
            "</tool_response>",
            "<arg_key>",
            "</arg_key>",
            "<arg_value>",
            "</arg_value>",
        ],
        None,
        "<|endoftext|>",
    ),
}

RENDERERS = {
    "qwen3_5_preserve_thinking": "qwen",
    "deepseekv4_1": "ds4",
    "deepseekv4_1_low_reasoning": "ds4",
    "deepseekv4_1_max_reasoning": "ds4",
    "deepseekv4_1_disable_thinking": "ds4",
    "deepseekv4_1_preserve_thinking": "ds4",
    "glm5_3_max_reasoning": "glm",
    "glm5_3_low_reasoning": "glm",
    "glm5_3_high_reasoning": "glm",
}

MODES = [
    "last_assistant_message",
    "last_assistant_turn",
    "all_assistant_messages",
    "all_messages",
    "all_tokens",
    "all_user_and_system_messages",
    "customized",
]


class CharTokenizer:
    """One id per code point, and one per added token of a family."""

    def __init__(self, family):
        special, added, self.bos_token, eos = FAMILIES[family]
        self.name_or_path = f"char/{family}"
        self.ids = {token: FIRST_ADDED + index for index, token in enumerate(special + added)}
        self.texts = {index: token for token, index in self.ids.items()}
        longest_first = sorted(self.ids, key=len, reverse=True)
        self.pattern = re.compile("(" + "|".join(re.escape(token) for token in longest_first) + ")")
        self.eos_token_id = self.ids[eos]

    @property
    def backend_tokenizer(self):
        return types.SimpleNamespace(encode_special_tokens=False)

    def encode(self, text, add_special_tokens=True):
        ids = []
        for piece in self.pattern.split(text):
            ids.extend([self.ids[piece]] if piece in self.ids else [ord(character) for character in piece])
        return ids

    def decode(self, ids):
        return "".join(self.texts.get(token) or chr(token) for token in ids)

    def convert_tokens_to_ids(self, token):
        return self.ids[token]


class Weights(list):
    """What renderers use of a one-dimensional tensor."""

    def __getitem__(self, index):
        return Weights(super().__getitem__(index)) if isinstance(index, slice) else super().__getitem__(index)


def stand_in_for_torch():
    torch = types.ModuleType("torch")
    torch.__version__ = "2.10.0"
    torch.Tensor = Weights
    torch.tensor = Weights
    torch.zeros = lambda count: Weights([0.0] * count)
    torch.cat = lambda parts: Weights([value for part in parts for value in part])
    sys.modules["torch"] = torch
    transformers = types.ModuleType("transformers")
    transformers.__version__ = "5.7.0"
    sys.modules["transformers"] = transformers


TEXTS = [
    "",
    " ",
    "4",
    "What is 2+2?",
    "naïve café",
    "red, green, blue",
    "  spaced  ",
    "ends here\n\n",
    "\n\nbegins late",
    "日本 😀",
    "<tool_response>x</tool_response>",
    "Because.\x1c",
    "\ufeffbom\ufeff",
    "{\"t\": 72}",
    "</tool_call> <function=f>",
]
THOUGHTS = ["use a tool", "  spaced  ", "two and two", "hmm\n\n", "\nlate", "", "日本"]
NAMES = ["get", "search_web", "do-it", "a.b", "calc2", "naïve"]
ARGUMENTS = [
    "{}",
    "",
    "{\"x\": 1}",
    "{\"city\": \"SF\", \"n\": 2}",
    "{\"x\":1.0,\"y\":1e5,\"z\":-0.0}",
    "{\"s\": \"é\\n\\\"q\\\"\", \"t\": \"日本\"}",
    "{\"o\": {\"k\": [1, 2, {\"z\": \"é\"}]}, \"a\": []}",
    "{\"ok\": true, \"none\": null}",
    "{\"big\": 123456789012345678901234567890}",
    "  {\"pad\" : 1 }  ",
    "{\"html\": \"<b>&amp;</b>\"}",
    "{\"code\": \"</tool_call>\"}",
]
BAD_ARGUMENTS = ["{bad", "[1]", "\"text\"", "{\"k\": 1, \"k\": 2}"]
TOOLS = [
    {
        "name": "get",
        "description": "Get it",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string", "description": "City"}, "n": {"type": "integer", "default": 3}},
            "required": ["city"],
        },
    },
    {"name": "f", "description": "", "parameters": {}},
    {"name": "search", "description": "Multi\nline é", "parameters": {"type": "object", "properties": {}}},
]


class Conversations:
    """Random conversations, tools and responses."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def pick(self, values):
        return self.random.choice(values)

    def chance(self, share):
        return self.random.random() < share

    def call(self, index):
        arguments = self.pick(BAD_ARGUMENTS) if self.chance(0.06) else self.pick(ARGUMENTS)
        name = self.pick(NAMES)
        identity = self.pick([None, f"call_{index}", f"functions.{name}:{index}"])
        return {"type": "function", "id": identity, "function": {"name": name, "arguments": arguments}}

    def content(self):
        if self.chance(0.5):
            return self.pick(TEXTS + ["<think>r</think>4", "<think>open", "r</think>4"])
        parts = []
        if self.chance(0.7):
            parts.append({"type": "thinking", "thinking": self.pick(THOUGHTS)})
        if self.chance(0.8):
            parts.append({"type": "text", "text": self.pick(TEXTS)})
        return parts

    def exchange(self):
        messages = [{"role": "user", "content": self.pick(TEXTS)}] if self.chance(0.9) else []
        for _ in range(self.pick([0, 0, 0, 1, 1, 2])):
            calls = [self.call(index) for index in range(self.pick([1, 1, 2, 3]))]
            messages.append({"role": "assistant", "content": self.content(), "tool_calls": calls})
            answered = [call for call in calls if self.chance(0.9)]
            if self.chance(0.4):
                answered.reverse()
            for call in answered:
                answer = {"role": "tool", "content": self.pick(TEXTS), "name": call["function"]["name"]}
                if call["id"] is not None and self.chance(0.9):
                    answer["tool_call_id"] = call["id"]
                messages.append(answer)
        if self.chance(0.85):
            messages.append({"role": "assistant", "content": self.content()})
            if self.chance(0.1):
                messages[-1]["tool_calls"] = []
        return messages

    def conversation(self):
        messages = [{"role": "system", "content": self.pick(["", " ", "Be terse.", "SYS\n"])}] if self.chance(0.4) else []
        for _ in range(self.pick([0, 1, 1, 2, 2, 3])):
            messages.extend(self.exchange())
        if self.chance(0.1):
            messages.append({"role": self.pick(["system", "critic", "tool", "user"]), "content": self.pick(TEXTS)})
        return messages

    def tools(self):
        return [tool for tool in TOOLS if self.chance(0.6)]


def response_pieces(family):
    """Pieces of responses, of which random ones are put together."""
    common = ["<think>", "</think>", "r", "4", " ", "\n\n", "naïve 日本", "<tool_call>", "</tool_call>"]
    if family == "glm":
        return common + [
            "<tool_call>get<arg_key>city</arg_key><arg_value>SF</arg_value><arg_key>n</arg_key><arg_value>2</arg_value></tool_call>",
            "<tool_call>f</tool_call>",
            "<tool_call>\nf\n<arg_key> k </arg_key>\n<arg_value>[1, 2.0]</arg_value>\n</tool_call>",
            "<tool_call>f x<arg_key>k</arg_key><arg_value>v</arg_value></tool_call>",
            "<tool_call>f<arg_key></arg_key><arg_value>v</arg_value></tool_call>",
            "<tool_call>f<arg_key>k</arg_key><arg_value>v</arg_value>junk</tool_call>",
            "<tool_call>na ïve</tool_call>",
            "<tool_call>{\"name\": \"f\", \"arguments\": {\"x\": 1.0}}</tool_call>",
        ]
    if family == "ds4":
        parameter = "<｜DSML｜ parameter name=\"{}\" string=\"{}\">{}</｜DSML｜ parameter>"
        good = parameter.format("city", "true", "SF") + "\n" + parameter.format("n", "false", "2.0")
        invoke = "<｜DSML｜ invoke name=\"{}\">\n{}\n</｜DSML｜ invoke>"
        block = "\n\n<｜DSML｜ calls>\n{}\n</｜DSML｜ calls>"
        return common + [
            block.format(invoke.format("get", good)),
            block.format(invoke.format("get", good) + "\n" + invoke.format("f", "")),
            block.format(invoke.format(" ", good)),
            block.format(invoke.format("f", parameter.format("k", "false", "{bad"))),
            block.format(invoke.format("f", parameter.format("k", "true", "a") + parameter.format("k", "true", "b"))),
            block.format(invoke.format("f", "junk" + parameter.format("k", "true", "a"))),
            block.format(invoke.format("f", parameter.format(" ", "true", "a"))),
            block.format("junk"),
            "<｜DSML｜ calls>",
            "</｜DSML｜ calls>",
            "｜DSML｜",
        ]
    xml = "<tool_call>\n<function={}>\n{}</function>\n</tool_call>"
    parameter = "<parameter={}>\n{}\n</parameter>\n"
    return common + [
        xml.format("get", parameter.format("city", "SF") + parameter.format("n", "2")),
        xml.format("f", ""),
        xml.format(" ", ""),
        xml.format("f", "junk" + parameter.format("k", "v")),
        "<tool_call>{\"name\": \"f\", \"arguments\": {\"x\": 1.0}}</tool_call>",
    ]


def stops(family):
    return {"glm": ["<|user|>", "<|observation|>", "<|endoftext|>"], "ds4": ["<｜end▁of▁sentence｜>"], "qwen": ["<|im_end|>"]}[family]


def responses(source, family, count):
    pieces = response_pieces(family)
    for _ in range(count):
        text = "".join(source.pick(pieces) for _ in range(source.pick([1, 2, 3, 4, 6])))
        ending = source.pick(stops(family)) if source.chance(0.8) else ""
        if source.chance(0.05):
            ending += source.pick(stops(family)) + " after"
        yield text + ending


def runs(weights):
    coded = []
    for weight in weights:
        if coded and coded[-1][0] == weight:
            coded[-1][1] += 1
        else:
            coded.append([int(weight), 1])
    return coded


def main(folder, seed):
    stand_in_for_torch()
    from tinker_cookbook import renderers
    from tinker_cookbook.exceptions import RendererError
    from tinker_cookbook.renderers.base import ToolCall, TrainOnWhat, classify_parse_failure

    source_name = f"tinker-cookbook {importlib.metadata.version('tinker-cookbook')}"

    def failure(error):
        return {"error": type(error).__name__, "rendererError": isinstance(error, RendererError)}

    def native(messages):
        calls = lambda message: [ToolCall.model_validate(call) for call in message["tool_calls"]]
        return [{**message, **({"tool_calls": calls(message)} if "tool_calls" in message else {})} for message in messages]

    def chunks_of(tokenizer, model_input):
        return [tokenizer.decode(chunk.tokens) for chunk in model_input.chunks]

    def parsed_message(message):
        result = {"role": message["role"], "content": message["content"]}
        if "tool_calls" in message:
            result["tool_calls"] = [
                {"id": call.id, "name": call.function.name, "arguments": call.function.arguments}
                for call in message["tool_calls"]
            ]
        if "unparsed_tool_calls" in message:
            result["unparsed_tool_calls"] = [
                {"raw_text": call.raw_text, "error_head": call.error.split(":")[0]}
                for call in message["unparsed_tool_calls"]
            ]
        return result

    files = {name: (folder / f"{name}.jsonl").open("w") for name in ["prompts", "supervised", "parse", "tools"]}

    def write(name, index, renderer, family, details, expect):
        kind = {"prompts": "prompt", "supervised": "supervised", "parse": "parse", "tools": "tools"}[name]
        record = {
            "id": f"{kind}/{renderer}/char:{family}/{index}",
            "source": source_name,
            "input": {"renderer": renderer, "tokenizer": f"char:{family}", **details},
            "expect": expect,
        }
        files[name].write(json.dumps(record, separators=(",", ":")) + "\n")

    def prompt(renderer, tokenizer, details):
        options = {key: details[key] for key in ("role", "prefill") if key in details}
        chunks = chunks_of(tokenizer, renderer.build_generation_prompt(native(details["messages"]), **options))
        return {"chunks": chunks, "stop": [tokenizer.decode([stop]) for stop in renderer.get_stop_sequences()]}

    def example(tokenizer, built):
        model_input, weights = built
        return {
            "weights": runs(weights),
            "chunkLengths": [len(chunk.tokens) for chunk in model_input.chunks],
            "chunks": chunks_of(tokenizer, model_input),
        }

    def attempt(action):
        try:
            return action()
        except Exception as error:
            return failure(error)

    def supervised(renderer, tokenizer, details):
        plain = details["messages"]
        marked = [{**message, "trainable": mark} for message, mark in zip(plain, details["trainable"])]
        modes = {}
        for mode in MODES:
            given = marked if mode == "customized" else plain
            modes[mode] = attempt(
                lambda: example(tokenizer, renderer.build_supervised_example(native(given), TrainOnWhat(mode)))
            )
        base = next((recorded for recorded in modes.values() if "error" not in recorded), None)
        tokens = {key: base[key] for key in ("chunkLengths", "chunks")} if base is not None else {}
        for recorded in modes.values():
            if "error" not in recorded and recorded["chunks"] == tokens["chunks"]:
                del recorded["chunks"], recorded["chunkLengths"]
        examples = {
            mode: attempt(
                lambda: [
                    example(tokenizer, built)
                    for built in renderer.build_supervised_examples(native(plain), TrainOnWhat(mode))
                ]
            )
            for mode in ["last_assistant_message", "last_assistant_turn", "all_assistant_messages", "all_messages"]
        }
        return {"modes": modes, **tokens, "examples": examples}

    def parse(renderer, tokenizer, details):
        message, termination = renderer.parse_response(tokenizer.encode(details["text"]))
        found = classify_parse_failure(message, termination)
        return {
            "message": parsed_message(message),
            "termination": str(termination),
            "failure": None if found is None else str(found[0]),
            "openai": json.loads(json.dumps(renderer.to_openai_message(message))),
        }

    def tools(renderer, tokenizer, details):
        messages = renderer.create_conversation_prefix_with_tools(details["tools"], details["systemPrompt"])
        conversation = [*messages, {"role": "user", "content": "q"}]
        return {
            "messages": [dict(message) for message in messages],
            "promptChunks": chunks_of(tokenizer, renderer.build_generation_prompt(conversation)),
        }

    for name, family in RENDERERS.items():
        tokenizer = CharTokenizer(family)
        renderer = renderers.get_renderer(name, tokenizer)
        source = Conversations(f"{seed}/{name}")
        for index in range(14):
            details = {"messages": source.conversation()}
            if source.chance(0.15):
                details["role"] = source.pick(["user", "system", "tool", "critic"])
            if source.chance(0.2):
                details["prefill"] = source.pick(["So", " x", "<think>"])
            write("prompts", index, name, family, details, attempt(lambda: prompt(renderer, tokenizer, details)))
        for index in range(10):
            messages = source.conversation()
            details = {"messages": messages, "trainable": [source.chance(0.5) for _ in messages]}
            write("supervised", index, name, family, details, supervised(renderer, tokenizer, details))
        for index, text in enumerate(responses(source, family, 24)):
            details = {"text": text}
            write("parse", index, name, family, details, attempt(lambda: parse(renderer, tokenizer, details)))
        for index in range(3):
            details = {"systemPrompt": source.pick(["", "SYS", " ", "über\n"]), "tools": source.tools()}
            write("tools", index, name, family, details, attempt(lambda: tools(renderer, tokenizer, details)))
    for file in files.values():
        file.close()


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    main(target, sys.argv[2] if len(sys.argv) > 2 else "0")

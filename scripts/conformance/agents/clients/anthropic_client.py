from anthropic import Anthropic, beta_tool

import task

client = Anthropic(max_retries=0)
tools = [beta_tool(tool) for tool in task.tools.values()]


def text_of(message):
    return "".join(block.text for block in message.content if block.type == "text")


def loop(stream):
    runner = client.beta.messages.tool_runner(
        model=task.model, max_tokens=1000, messages=task.question, tools=tools, stream=stream
    )
    last = None
    for one in runner:
        last = one.get_final_message() if stream else one
    return text_of(last)


def count():
    return client.messages.count_tokens(model=task.model, messages=task.question).input_tokens > 0


task.answer({"tools": lambda: loop(False), "tools, streamed": lambda: loop(True), "count_tokens": count})

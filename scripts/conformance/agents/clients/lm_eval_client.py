import json
import os

from lm_eval.api.instance import Instance
from lm_eval.models.openai_completions import LocalChatCompletion

import task


def generated():
    """The harness asks for a temperature of 0 and a seed, and cuts what it gets at the texts of `until`."""
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    model = LocalChatCompletion(base_url=url, model=task.model, max_retries=1)
    prompt = model.apply_chat_template([{"role": "user", "content": task.object_prompt}])
    options = {"until": ["\n\n"], "max_gen_toks": 100}
    return json.loads(model.generate_until([Instance("generate_until", {}, (prompt, options), 0)])[0])


task.answer({"local-chat-completions: generate_until": generated})

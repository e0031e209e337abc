/** The agent: an ordinary program that talks to a model through OpenAI's client. It does not know that it is trained. */
import type OpenAI from "openai"

export interface Settings {
  readonly client: OpenAI
  readonly model: string
}

/** Asks the model, and asks once more if the answer contains no number. */
export const answer = async ({ client, model }: Settings, question: string): Promise<string> => {
  const messages: Array<OpenAI.ChatCompletionMessageParam> = [{ role: "user", content: question }]
  const ask = async () => {
    const { choices: [choice] } = await client.chat.completions.create({ model, messages })
    return choice?.message.content ?? ""
  }
  const first = await ask()
  if (/\d/.test(first)) return first
  messages.push({ role: "assistant", content: first }, { role: "user", content: "Answer with a number." })
  return await ask()
}

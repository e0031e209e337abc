/** Reads responses in OpenAI's Harmony format while they arrive. */
import type { MakeReader } from "../DeltaSink.ts"
import * as MarkerText from "../MarkerText.ts"
import * as PythonText from "../text/PythonText.ts"
import * as Harmony from "./Harmony.ts"

const message = "<|message|>"
const start = "<|start|>"

/** Passes on visible text as it arrives, and each call when it is complete; other channels are left out. */
export const make: MakeReader = (sink) => {
  let all = ""
  let buffer = ""
  let header: string | undefined
  let isShown = false
  let hasPart = false

  const emit = (text: string, end: string) => {
    if (header === undefined) return
    const segment = Harmony.segment(header, text, header + message + text + end)
    const part = Harmony.call(segment) === undefined ? Harmony.part(segment) : undefined
    hasPart ||= part !== undefined
    if (part?.type === "text") sink.text(text)
    if (part?.type === "thinking") sink.thinking(text)
  }

  /** Passes on the beginning of a visible body once it contains more than white space. */
  const show = (length: number) => {
    const text = buffer.slice(0, length)
    if (header === undefined || Harmony.call(Harmony.segment(header, text, "")) !== undefined) return
    if (!isShown && PythonText.strip(text) === "") return
    isShown = true
    emit(text, "")
    buffer = buffer.slice(length)
  }

  const finish = (body: string, end: string) => {
    if (header === undefined) return
    const call = Harmony.call(Harmony.segment(header, body, header + message + body + end))
    if (call !== undefined && PythonText.strip(body) !== "") sink.call(call)
    sink.endPart()
    header = undefined
    isShown = false
  }

  const step = (): boolean => {
    if (header === undefined) {
      const at = buffer.indexOf(message)
      if (at === -1) return false
      const begun = buffer.lastIndexOf(start, at)
      header = buffer.slice(begun === -1 ? 0 : begun, at)
      buffer = buffer.slice(at + message.length)
      return true
    }
    const found = MarkerText.first(buffer, Harmony.ends)
    show(found?.index ?? MarkerText.safeLength(buffer, Harmony.ends))
    if (found === undefined) return false
    const at = buffer.indexOf(found.marker)
    const body = buffer.slice(0, at)
    buffer = buffer.slice(at + found.marker.length)
    finish(body, found.marker)
    return true
  }

  return {
    write: (text) => {
      all += text
      buffer += text
      while (step());
    },
    end: () => {
      show(buffer.length)
      finish(buffer, "")
      if (!hasPart) sink.text(all)
    }
  }
}

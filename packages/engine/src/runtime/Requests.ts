/** Requests to compute threads that have not been answered. */
import { TinkerError } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import type { Command, Reply } from "./Protocol.ts"
import type { Listener, Thread } from "./Thread.ts"

type Unavailable = TinkerError.Unavailable

/** A request to a thread, and how to read its answer. */
export interface Question<A> {
  readonly command: (id: number) => Command
  /** Reads the answer from a reply; undefined if the reply answers another kind of request. */
  readonly read: (reply: Reply, id: number) => A | undefined
  /** Called if the caller is interrupted. */
  readonly cancel?: (id: number) => void
}

interface Unanswered {
  readonly fail: (reason: Unavailable) => void
  readonly receive: (reply: Reply) => void
}

/** Tracks requests by id. The first failure of any thread fails all current and later requests. */
export class Requests implements Listener {
  readonly #unanswered = new Map<number, Unanswered>()
  #nextId = 0
  #failure: Unavailable | undefined

  get count() {
    return this.#unanswered.size
  }

  /** Fails after a thread has failed. */
  readonly health = Effect.suspend(() => this.#failure === undefined ? Effect.void : Effect.fail(this.#failure))

  readonly onReply = (reply: Reply) => {
    const ids = reply._tag === "Sampled" ? reply.results.map(({ id }) => id) : [reply.id]
    for (const id of ids) this.#unanswered.get(id)?.receive(reply)
  }

  readonly onFailure = (detail: string) => {
    this.#failure ??= new TinkerError.Unavailable({ detail: `${detail}; the engine must be started again` })
    for (const [id, request] of this.#unanswered) {
      this.#unanswered.delete(id)
      request.fail(this.#failure)
    }
  }

  /** Sends a command to a thread and reads the answer from its reply. */
  ask<A>(thread: Thread, { cancel, command, read }: Question<A>): Effect.Effect<A, Unavailable> {
    return Effect.callback<A, Unavailable>((resume) => {
      if (this.#failure !== undefined) return resume(Effect.fail(this.#failure))
      const id = this.#nextId++
      this.#unanswered.set(id, {
        fail: (reason) => resume(Effect.fail(reason)),
        receive: (reply) => {
          this.#unanswered.delete(id)
          const answer = read(reply, id)
          resume(
            answer === undefined
              ? Effect.die(new Error(`a ${reply._tag} answers another call`))
              : Effect.succeed(answer)
          )
        }
      })
      thread.post(command(id))
      return Effect.sync(() => {
        this.#unanswered.delete(id)
        cancel?.(id)
      })
    })
  }
}

/** First turns of a group's members that are asked for at the same time, as one request. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type { SamplingClient } from "../backend/SamplingClient.ts"
import { TinkerError, Unavailable } from "../backend/TinkerError.ts"
import * as ModelInput from "../model/ModelInput.ts"
import type * as Sampling from "../model/Sampling.ts"

/** A request for one sequence, whose seed is its member's own. */
export interface Single extends Sampling.SampleRequest {
  readonly params: Sampling.SamplingParams & { readonly seed: number }
}

interface Member {
  readonly request: Single
  readonly answer: Deferred.Deferred<Sampling.SampledTokens, TinkerError>
  /** Once it is decided who goes together. */
  shared?: Shared
}

/** Members whose requests are one: equal apart from their seeds, which follow each other. */
interface Shared {
  readonly members: Array<Member>
  waiting: number
  fiber?: Fiber.Fiber<void>
}

const sameStop = (left: Sampling.Stop = [], right: Sampling.Stop = []) =>
  left === right || (left.length === right.length && left.every((stop, index) => stop === right[index]))

const follows = (left: Single, right: Single) =>
  right.params.seed === left.params.seed + 1
  && right.params.maxTokens === left.params.maxTokens
  && sameStop(left.params.stop, right.params.stop)
  && ModelInput.equals(left.prompt, right.prompt)

const share = (members: Iterable<Member>): ReadonlyArray<Shared> => {
  const all: Array<Shared> = []
  let last: Member | undefined
  for (const member of [...members].sort((left, right) => left.request.params.seed - right.request.params.seed)) {
    const previous = last !== undefined && follows(last.request, member.request) ? last.shared : undefined
    const shared = previous ?? { members: [], waiting: 0 }
    if (previous === undefined) all.push(shared)
    shared.members.push(member)
    shared.waiting++
    member.shared = shared
    last = member
  }
  return all
}

const sequence = (sequences: ReadonlyArray<Sampling.SampledTokens>, index: number) => {
  const sampled = sequences[index]
  const detail = sequences.length === 0
    ? "no sequence was returned"
    : `only ${sequences.length} sequences were returned`
  return sampled === undefined
    ? Exit.fail(new TinkerError({ operation: "sample", reason: new Unavailable({ detail }) }))
    : Exit.succeed(sampled)
}

/** The sequence of a request for one. */
export const onlySequence = (sequences: ReadonlyArray<Sampling.SampledTokens>): Effect.Effect<
  Sampling.SampledTokens,
  TinkerError
> => sequence(sequences, 0)

/** Belongs to no member, so that one that is interrupted takes nothing from the others. */
const send = (client: SamplingClient, shared: Shared) => {
  const [first] = shared.members
  if (first === undefined) return Effect.void
  const asked = client.sample({ ...first.request, numSamples: shared.members.length }).pipe(
    Effect.onExit((exit) =>
      Effect.sync(() => {
        for (const [index, { answer }] of shared.members.entries()) {
          Deferred.doneUnsafe(
            answer,
            Exit.isSuccess(exit) ? sequence(exit.value.sequences, index) : Exit.failCause(exit.cause)
          )
        }
      })
    ),
    Effect.exit,
    Effect.asVoid
  )
  return Effect.map(Effect.forkDetach(asked), (fiber) => {
    shared.fiber = fiber
  })
}

const leave = ({ shared }: Member) => {
  if (shared === undefined || --shared.waiting > 0 || shared.fiber === undefined) return Effect.void
  return Fiber.interrupt(shared.fiber)
}

/**
 * Sample `i` of a request is reproducible as its seed + `i`, and members' seeds follow each other: with seeds, each member gets
 * what it would have got alone. Nobody waits for others: what asks in the same turn of the event loop goes together. Where the
 * request fails, so do its members; it is interrupted when all of them are. (`RequestResolver` would go on with it.)
 */
export const make = (client: SamplingClient) => {
  const open = new Map<string, Set<Member>>()

  /** The first to ask lets all ask who can now, and then decides who goes together. */
  const lead = (group: string, members: Set<Member>, leader: Member) =>
    Effect.onExit(Effect.yieldNow, (exit) => {
      open.delete(group)
      if (Exit.isFailure(exit)) members.delete(leader)
      const together = share(members).filter(({ members }) => members.length > 1 || members[0] !== leader)
      return Effect.forEach(together, (shared) => send(client, shared), { discard: true })
    })

  const ask = (group: string, member: Member, members: Set<Member>) => {
    const answer = Deferred.await(member.answer)
    const isFirst = members.size === 0
    members.add(member)
    if (!isFirst) return answer
    open.set(group, members)
    const alone = Effect.flatMap(client.sample(member.request), ({ sequences }) => onlySequence(sequences))
    const answered = Effect.suspend(() => member.shared?.fiber === undefined ? alone : answer)
    return Effect.andThen(lead(group, members, member), answered)
  }

  return (group: string, request: Single): Effect.Effect<Sampling.SampledTokens, TinkerError> =>
    Effect.suspend(() => {
      const member: Member = { request, answer: Deferred.makeUnsafe() }
      const members = open.get(group) ?? new Set()
      return Effect.onInterrupt(ask(group, member, members), () => {
        members.delete(member)
        return leave(member)
      })
    })
}

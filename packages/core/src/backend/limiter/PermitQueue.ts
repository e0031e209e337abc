/** Requests that wait for permits, in lanes that each get a share of them. */
import * as Deferred from "effect/Deferred"
import * as Exit from "effect/Exit"
import type { TinkerError } from "../TinkerError.ts"

/** The purpose of a request. */
export type Lane = "training" | "evaluation" | "judge"

/** If all lanes wait, judges get 4 of 7 permits, evaluation 2 and training 1, because a judge's request completes a rollout. */
const shares: Readonly<Record<Lane, number>> = { judge: 4, evaluation: 2, training: 1 }

export const lanes: ReadonlyArray<Lane> = ["judge", "evaluation", "training"]

/** One request, which needs all its `permits` at once. */
export interface Waiter {
  readonly lane: Lane
  readonly permits: number
  readonly admitted: Deferred.Deferred<void, TinkerError>
}

export const waiter = (lane: Lane, permits: number): Waiter => ({ lane, permits, admitted: Deferred.makeUnsafe() })

export interface PermitQueue {
  readonly add: (waiter: Waiter) => void
  /** Puts a request that was sent and rejected back into the queue. */
  readonly addAgain: (waiter: Waiter) => void
  /** Removes a waiting request; false if it was no longer waiting. */
  readonly remove: (waiter: Waiter) => boolean
  readonly next: () => Waiter | undefined
  /** Removes the request that `next` returned, and charges its permits to its lane. */
  readonly take: (waiter: Waiter) => void
  readonly refuse: (error: TinkerError) => void
  readonly waiting: () => Record<Lane, number>
}

interface LaneQueue {
  readonly again: Set<Waiter>
  readonly fresh: Set<Waiter>
  /** Permits given to the lane so far, divided by its share. */
  given: number
}

const emptyLane = (): LaneQueue => ({ again: new Set(), fresh: new Set(), given: 0 })

const length = ({ again, fresh }: LaneQueue) => again.size + fresh.size

const first = ({ again, fresh }: LaneQueue): Waiter | undefined => {
  const [waiter] = again.size > 0 ? again : fresh
  return waiter
}

/**
 * A queue with stride scheduling: the next request comes from the lane that has received the fewest permits relative to its share. A lane
 * is not compensated for the time in which it was empty.
 */
export const make = (): PermitQueue => {
  const queues: Record<Lane, LaneQueue> = { judge: emptyLane(), evaluation: emptyLane(), training: emptyLane() }
  let latest = 0
  const enter = (lane: Lane) => {
    const queue = queues[lane]
    if (length(queue) === 0) queue.given = Math.max(queue.given, latest)
    return queue
  }
  const remove = (waiter: Waiter) => {
    const { again, fresh } = queues[waiter.lane]
    return again.delete(waiter) || fresh.delete(waiter)
  }
  return {
    add: (waiter) => void enter(waiter.lane).fresh.add(waiter),
    addAgain: (waiter) => void enter(waiter.lane).again.add(waiter),
    remove,
    next: () => {
      let least: LaneQueue | undefined
      for (const lane of lanes) {
        const queue = queues[lane]
        if (length(queue) > 0 && (least === undefined || queue.given < least.given)) least = queue
      }
      return least === undefined ? undefined : first(least)
    },
    take: (waiter) => {
      remove(waiter)
      const queue = queues[waiter.lane]
      latest = queue.given
      queue.given += waiter.permits / shares[waiter.lane]
    },
    refuse: (error) => {
      for (const lane of lanes) {
        const { again, fresh } = queues[lane]
        const refused = [...again, ...fresh]
        again.clear()
        fresh.clear()
        for (const { admitted } of refused) Deferred.doneUnsafe(admitted, Exit.fail(error))
      }
    },
    waiting: () => ({
      judge: length(queues.judge),
      evaluation: length(queues.evaluation),
      training: length(queues.training)
    })
  }
}

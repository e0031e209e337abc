/** Waits for other programs to pause: what runs on all processors loses most when it has to share them. */
import { cpus } from "node:os"

const longestWaitSeconds = 120

/** Milliseconds that all processors were busy, and in total. */
const times = () =>
  cpus().reduce(
    ({ busy, total }, { times: { idle, irq, nice, sys, user } }) => ({
      busy: busy + irq + nice + sys + user,
      total: total + idle + irq + nice + sys + user
    }),
    { busy: 0, total: 0 }
  )

const busyShare = async () => {
  const before = times()
  await new Promise((resolve) => setTimeout(resolve, 1000))
  const after = times()
  return (after.busy - before.busy) / (after.total - before.total)
}

/** Resolves after a second in which the processors were at most a tenth busy, or after two minutes without one. */
export const quiet = async () => {
  for (let second = 0; second < longestWaitSeconds; second++) {
    if (await busyShare() <= 0.1) return
  }
}

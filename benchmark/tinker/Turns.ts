/** Loaded into a server before its program: tells the parent process, when asked, the longest turn of the event loop since it last asked. */

let longest = 0
let last = process.threadCpuUsage()

/** Milliseconds of processor time that this thread has used since the last turn. Other programs do not lengthen it. */
const elapsed = () => {
  const { system, user } = process.threadCpuUsage(last)
  return (system + user) / 1000
}

setInterval(() => {
  longest = Math.max(longest, elapsed())
  last = process.threadCpuUsage()
}, 1).unref()

process.on("message", () => {
  process.send?.(longest)
  longest = 0
})

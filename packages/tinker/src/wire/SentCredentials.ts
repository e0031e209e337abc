/** The credentials that this process has sent, the newest of them, so that a recording of what was answered can leave them out. */

const sent = new Set<string>()

/** Tokens that a key is exchanged for change every hour or so. */
const most = 64

/** Notes a credential that goes into a header. */
export const note = (credential: string): void => {
  sent.delete(credential)
  sent.add(credential)
  for (const oldest of sent) {
    if (sent.size <= most) break
    sent.delete(oldest)
  }
}

/** The credentials, oldest first. */
export const all = (): ReadonlyArray<string> => [...sent]

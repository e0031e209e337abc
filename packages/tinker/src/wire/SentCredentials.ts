/** The credentials that this process sent most recently, so recordings of answers can exclude them. */

const sent = new Set<string>()

/** Maximum number of remembered credentials. Exchanged tokens change about once an hour. */
const most = 64

/** Remembers a credential that is sent in a header. */
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

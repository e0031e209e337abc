/** A service's messages, safe to show in a log and on a terminal. */

/** Characters that end a line or steer a terminal. */
// oxlint-disable-next-line no-control-regex
const unprintable = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g

const most = 500

/** One line of at most 500 characters. */
export const line = (text: string) => text.replaceAll(unprintable, " ").trim().slice(0, most)

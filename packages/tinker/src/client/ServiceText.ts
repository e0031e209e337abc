/** Makes messages of a service safe to show in logs and terminals. */

/** Characters that end a line or control a terminal. */
// oxlint-disable-next-line no-control-regex
const unprintable = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g

const most = 500

/** The text as one line of at most 500 characters. */
export const line = (text: string) => text.replaceAll(unprintable, " ").trim().slice(0, most)

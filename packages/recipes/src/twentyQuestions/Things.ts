/**
 * Things to guess, and yes-or-no questions whose answers are known for each of them.
 *
 * @example
 * Things.answer("eagle", "Can it fly?") // => "Yes"
 */

/** A question, and how other wordings of it are recognised. */
interface Trait {
  readonly name: string
  readonly question: string
  readonly wording: RegExp
}

export const traits: ReadonlyArray<Trait> = [
  { name: "animal", question: "Is it an animal?", wording: /\b(?:animal|creature|pet)\b/i },
  { name: "food", question: "Can you eat it?", wording: /\b(?:eat|eaten|edible|food)\b/i },
  { name: "big", question: "Is it bigger than a person?", wording: /\b(?:big|bigger|large|larger|huge)\b/i },
  { name: "flies", question: "Can it fly?", wording: /\b(?:fly|flies|flying)\b/i },
  { name: "indoors", question: "Is it found indoors?", wording: /\b(?:indoors|inside|household)\b/i },
  { name: "legs", question: "Does it have legs?", wording: /\blegs?\b/i },
  { name: "metal", question: "Is it made of metal?", wording: /\b(?:metal|steel|iron)\b/i }
]

/** The names of each thing's traits. No two things have the same ones. */
const traitsOf: ReadonlyMap<string, ReadonlyArray<string>> = new Map([
  ["eagle", ["animal", "flies", "legs"]],
  ["duck", ["animal", "food", "flies", "legs"]],
  ["horse", ["animal", "big", "legs"]],
  ["cow", ["animal", "food", "big", "legs"]],
  ["cat", ["animal", "indoors", "legs"]],
  ["parrot", ["animal", "flies", "indoors", "legs"]],
  ["sheep", ["animal", "food", "legs"]],
  ["wolf", ["animal", "legs"]],
  ["fish", ["animal", "food"]],
  ["snake", ["animal"]],
  ["whale", ["animal", "big"]],
  ["bread", ["food", "indoors"]],
  ["carrot", ["food"]],
  ["chair", ["indoors", "legs"]],
  ["bed", ["big", "indoors", "legs"]],
  ["lamp", ["indoors", "legs", "metal"]],
  ["oven", ["big", "indoors", "metal"]],
  ["key", ["indoors", "metal"]],
  ["book", ["indoors"]],
  ["car", ["big", "metal"]],
  ["plane", ["big", "flies", "metal"]],
  ["bicycle", ["metal"]],
  ["grill", ["legs", "metal"]],
  ["bench", ["legs"]],
  ["house", ["big"]],
  ["balloon", ["flies"]],
  ["stone", []]
])

export const names: ReadonlyArray<string> = [...traitsOf.keys()]

const has = (thing: string, { name }: Trait) => traitsOf.get(thing)?.includes(name) ?? false

const verdict = (is: boolean) => is ? "Yes" : "No"

/** The guess in a message that begins with `Guess:`, in lower case; undefined for other messages. */
export const guessIn = (said: string): string | undefined => /^Guess: (.*)/.exec(said)?.[1]?.toLowerCase()

/**
 * The answer about a thing: `Yes`, `No`, or `I cannot tell` if the question is not a known one. A guess is answered
 * too.
 */
export const answer = (thing: string, said: string): string => {
  const guess = guessIn(said)
  if (guess !== undefined) return verdict(guess === thing)
  const asked = traits.find(({ wording }) => wording.test(said))
  return asked === undefined ? "I cannot tell" : verdict(has(thing, asked))
}

const answered = ({ question }: Trait, conversation: string) =>
  conversation.split(question)[1]?.match(/\b(?:Yes|No)\b/)?.[0]

/** The things that the answers in a conversation do not rule out. */
export const leftOpen = (conversation: string): ReadonlyArray<string> => {
  const wrong = new Set(Array.from(conversation.matchAll(/Guess: (\w+)[^?:]*?\bNo\b/g), ([, guess]) => guess))
  const known = traits.flatMap((trait) => {
    const said = answered(trait, conversation)
    return said === undefined ? [] : [{ trait, said }]
  })
  return names.filter((thing) =>
    !wrong.has(thing) && known.every(({ said, trait }) => verdict(has(thing, trait)) === said)
  )
}

/** A good player's next message: a guess if one thing is left, otherwise the question that splits the remaining things most evenly. */
export const next = (conversation: string): string => {
  const open = leftOpen(conversation)
  if (open.length <= 1) return `Guess: ${open[0] ?? "nothing"}`
  const unevenness = (trait: Trait) => Math.abs(open.length - 2 * open.filter((thing) => has(thing, trait)).length)
  return traits.reduce((best, trait) => unevenness(trait) < unevenness(best) ? trait : best).question
}

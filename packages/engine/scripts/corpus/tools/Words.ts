/** The real and invented words in tools, parameters and requests. An eighth of them are held out. */
import type * as Random from "../Random.ts"

/** The words of one side of the split: training documents, or the tasks of the evaluation. */
export interface Lexicon {
  /** What a tool may find. */
  readonly topics: Words
  /** What tools act on. */
  readonly objects: Words
  /** What parameters refer to. */
  readonly entities: Words
  /** Names of people and places. */
  readonly names: Words
  /** Draws an invented lower-case word. */
  readonly invent: (random: Random.Random) => string
}

type Words = readonly [string, ...Array<string>]

const topics =
  `price weather temperature height weight age balance population capital distance length width depth size colour owner author
  director leader manager teacher doctor address birthday salary rent tax fee cost value score rank rating grade level speed duration status
  location position country language currency climate humidity pressure rainfall wind sunrise sunset forecast altitude elevation area volume
  density power voltage battery range capacity stock supply demand profit revenue budget discount deadline schedule timetable departure
  arrival platform gate seat route delay traffic fuel mileage engine model brand maker origin material texture flavour recipe ingredient
  calories protein sugar dose symptom diagnosis treatment pulse habitat diet lifespan offspring predator species breed nickname title genre
  publisher translator editor composer singer label album chapter summary definition synonym translation meaning spelling plural captain
  coach stadium league trophy winner champion opponent mayor president founder partner neighbour parent child sister brother friend boss
  assistant secretary supplier customer tenant landlord agent pilot driver guide host guest exchange_rate phone_number postal_code
  opening_time closing_time room_number zip_code birth_year flight_time travel_time tide toll ferry harbour river bridge summit glacier
  crater orbit moon mass radius charge half_life boiling_point melting_point licence warranty serial_number version branch commit author_id
  ticket_count page_count word_count visitor_count vacancy occupancy queue shelf aisle warehouse shipment invoice receipt refund deposit`

const objects =
  `room order table ticket meeting message alarm timer lamp door window heater light song playlist note task reminder event
  account file folder page record entry row user group channel post comment photo video parcel package shipment car bike scooter flight seat
  taxi hotel tour lesson course book subscription payment invoice transfer loan policy claim report job server container backup pump valve
  robot drone oven fridge fan curtain gate camera printer machine elevator boat tent locker court studio desk garden plant tank`

const entities =
  `city town village country region street building room person user customer employee student player team company shop
  product item book film song animal plant car train station airport flight order ticket account project file course recipe hotel river
  mountain island lake planet star element drug language word date day month year code number name id key title place label category group
  size amount quantity count limit weight length unit colour level mode priority status`

const names =
  `Paris London Rome Oslo Lima Cairo Delhi Tokyo Berlin Madrid Vienna Prague Dublin Athens Lisbon Zurich Geneva Boston Denver
  Dallas Austin Seattle Chicago Toronto Sydney Nairobi Lagos Havana Bogota Seoul Anna Ben Clara David Emma Felix Grace Henry Ivy Jonas Kate
  Leo Maria Noah Olga Peter Quinn Rosa Simon Tina Ursula Victor Wendy Xaver Yara Zoe Alice Bob Carol Eve Frank Ada Linus Miller Smith Jones
  Brown Fischer Weber Moreau Rossi Novak Silva Tanaka Khan Patel Kim Olsen Berg Stone Hill Brook Lake Winter Snow Green Atlas Nova Orion
  Apollo Titan Vega Luna Aurora Phoenix Falcon Raven Willow Maple Cedar Amber Coral Jasper Pearl Ruby Sable Topaz`

/** The FNV-1a hash of a text. */
const hash = (text: string): number => {
  let value = 0x811c9dc5
  for (const character of text) value = Math.imul(value ^ (character.codePointAt(0) ?? 0), 0x01000193)
  value = Math.imul(value ^ (value >>> 15), 0x2c1b3c6d)
  return (value ^ (value >>> 13)) >>> 0
}

/** Whether a word is held out for the evaluation, regardless of case. */
export const isHeldOut = (word: string): boolean => hash(word.toLowerCase()) % 8 === 0

const onsets = [..."bcdfghjklmnprstvwyz", "br", "cl", "dr", "gr", "pl", "sk", "st", "tr", "sh", "th", "ch", "qu"]
const vowels = [..."aaeeiioouu", "ai", "ee", "oo", "ou", "ea"]
const codas = [..."nnrrllsstmdkx", "nd", "rk", "st", "ck", "", "", "", "", "", "", "", "", "", ""]

const oneOf = (random: Random.Random, parts: ReadonlyArray<string>) => parts[random.below(parts.length)] ?? ""

const syllables = (random: Random.Random) =>
  Array.from(
    { length: random.uniform() < 0.75 ? 2 : 3 },
    (_, index) =>
      (index === 0 && random.uniform() < 0.15 ? "" : oneOf(random, onsets)) + oneOf(random, vowels) +
      oneOf(random, codas)
  ).join("")

const lexicon = (heldOut: boolean): Lexicon => {
  const belongs = (word: string) => isHeldOut(word) === heldOut
  const words = (list: string): Words => {
    const [first = "", ...others] = list.split(/\s+/).filter(belongs)
    return [first, ...others]
  }
  return {
    topics: words(topics),
    objects: words(objects),
    entities: words(entities),
    names: words(names),
    invent: (random) => {
      for (;;) {
        const word = syllables(random)
        if (word.length > 3 && word.length < 12 && belongs(word)) return word
      }
    }
  }
}

/** The words of training documents. */
export const trained = lexicon(false)

/** The words of the evaluation, none of which occurs in training documents. */
export const heldOut = lexicon(true)

/** All real words that are not held out; the tokenizer should encode them in few tokens. */
export const all: ReadonlyArray<string> = [
  ...trained.topics,
  ...trained.objects,
  ...trained.entities,
  ...trained.names
].flatMap((word) => word.split("_"))

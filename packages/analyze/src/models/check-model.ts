/**
 * Checks the text of a model file. A mistake is reported with the place in the file, the wrong text and
 * the right form: models are written by people who do not know the analyzer.
 */
import { HeddleError } from '@heddle/core'
import { blockingKinds, costs, entryKinds, tags } from './model.ts'
import type { ModelFile } from './model.ts'

type Fields = Readonly<Record<string, unknown>>

/** @throws `HDL_MODEL_INVALID` with the first mistake. */
export function checkModelFile(file: string, text: string): ModelFile {
  const checker = new Checker(file)
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch (error) {
    throw checker.error('', `is not JSON: ${(error as Error).message}`)
  }
  const model = checker.object('', parsed)
  checker.onlyFields('', model, ['$schema', 'version', 'about', 'entries'])
  if (model.version !== 1) throw checker.error('version', `is ${show(model.version)}, expected 1`)
  checker.text('about', model.about)
  checker
    .list('entries', model.entries)
    .forEach((entry, i) => checker.entry(`entries[${i}]`, checker.object(`entries[${i}]`, entry)))
  return parsed as ModelFile
}

const commonFields = ['module', 'type', 'names', 'except', 'kind']
const blockingFields = [...commonFields, 'tag', 'cost', 'input', 'when', 'alternative', 'boundedBy']
const sourceFields = [
  ...commonFields,
  'property',
  'of',
  'event',
  'gives',
  'limit',
  'noControl',
  'trusted',
]

class Checker {
  readonly #file: string

  constructor(file: string) {
    this.#file = file
  }

  error(at: string, problem: string): HeddleError {
    return new HeddleError('HDL_MODEL_INVALID', { file: this.#file, at, problem })
  }

  object(at: string, value: unknown): Fields {
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields
    throw this.error(at, `is ${show(value)}, expected an object`)
  }

  list(at: string, value: unknown): readonly unknown[] {
    if (Array.isArray(value)) return value as readonly unknown[]
    throw this.error(at, `is ${show(value)}, expected a list`)
  }

  text(at: string, value: unknown): void {
    if (typeof value === 'string' && value !== '') return
    throw this.error(at, `is ${show(value)}, expected text`)
  }

  texts(at: string, value: unknown): void {
    const list = this.list(at, value)
    if (list.length === 0) throw this.error(at, 'is empty, expected at least one name')
    list.forEach((one, i) => this.text(`${at}[${i}]`, one))
  }

  oneOf(at: string, value: unknown, allowed: readonly string[]): void {
    if (typeof value === 'string' && allowed.includes(value)) return
    throw this.error(at, `is ${show(value)}, expected one of ${allowed.join(', ')}`)
  }

  onlyFields(at: string, value: Fields, allowed: readonly string[]): void {
    const strange = Object.keys(value).find((field) => !allowed.includes(field))
    if (strange === undefined) return
    const path = at === '' ? strange : `${at}.${strange}`
    throw this.error(path, `is not a field of this kind, expected some of ${allowed.join(', ')}`)
  }

  entry(at: string, entry: Fields): void {
    this.oneOf(`${at}.kind`, entry.kind, entryKinds)
    const kind = entry.kind as string
    if (kind === 'source') {
      this.#source(at, entry)
      return
    }
    this.#pattern(at, entry)
    if (kind === 'offload') {
      this.onlyFields(at, entry, [...commonFields, 'tag'])
      this.oneOf(`${at}.tag`, entry.tag, tags)
    } else if (kind === 'returns') {
      this.onlyFields(at, entry, [...commonFields, 'returns', 'from'])
      this.text(`${at}.returns`, entry.returns)
      if (entry.from !== undefined) this.text(`${at}.from`, entry.from)
    } else if (kind === 'bound') {
      this.onlyFields(at, entry, commonFields)
    } else {
      this.#blocking(at, entry)
    }
  }

  #pattern(at: string, entry: Fields): void {
    this.text(`${at}.module`, entry.module)
    if (entry.type !== undefined) this.text(`${at}.type`, entry.type)
    this.texts(`${at}.names`, entry.names)
    if (entry.except !== undefined) this.texts(`${at}.except`, entry.except)
  }

  #blocking(at: string, entry: Fields): void {
    this.onlyFields(at, entry, blockingFields)
    this.oneOf(`${at}.kind`, entry.kind, blockingKinds)
    this.oneOf(`${at}.tag`, entry.tag, tags)
    this.oneOf(`${at}.cost`, entry.cost, costs)
    this.text(`${at}.alternative`, entry.alternative)
    if (entry.when !== undefined) this.oneOf(`${at}.when`, entry.when, ['in-loop'])
    if (entry.boundedBy !== undefined) this.texts(`${at}.boundedBy`, entry.boundedBy)
    const bySize = entry.cost === 'per-byte' || entry.cost === 'superlinear'
    if (bySize !== (entry.input !== undefined)) {
      throw this.error(
        `${at}.input`,
        bySize
          ? `is missing: cost ${show(entry.cost)} needs the argument (0, 1, …), "receiver" or "spread"`
          : `is only for the costs "per-byte" and "superlinear"`,
      )
    }
    const { input } = entry
    const isIndex = typeof input === 'number' && Number.isSafeInteger(input) && input >= 0
    if (input !== undefined && !isIndex && input !== 'receiver' && input !== 'spread') {
      throw this.error(`${at}.input`, `is ${show(input)}, expected 0, 1, …, "receiver" or "spread"`)
    }
  }

  #source(at: string, entry: Fields): void {
    this.onlyFields(at, entry, sourceFields)
    this.text(`${at}.gives`, entry.gives)
    const { limit } = entry
    if (limit !== undefined && !(typeof limit === 'number' && limit > 0)) {
      throw this.error(`${at}.limit`, `is ${show(limit)}, expected a number of bytes`)
    }
    for (const field of ['noControl', 'trusted']) {
      const value = entry[field]
      if (value !== undefined && typeof value !== 'boolean') {
        throw this.error(`${at}.${field}`, `is ${show(value)}, expected true or false`)
      }
    }
    if (entry.property !== undefined) {
      this.texts(`${at}.property`, entry.property)
      this.texts(`${at}.of`, entry.of)
    } else if (entry.event === undefined) {
      this.#pattern(at, entry)
    } else {
      this.texts(`${at}.event`, entry.event)
      if (entry.of !== undefined) this.texts(`${at}.of`, entry.of)
    }
  }
}

function show(value: unknown): string {
  return value === undefined ? 'missing' : (JSON.stringify(value) ?? typeof value)
}

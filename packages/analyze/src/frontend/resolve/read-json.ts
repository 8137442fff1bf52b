import { readFileSync } from 'node:fs'

export type JsonObject = { readonly [key: string]: unknown }

/**
 * Reads a JSON object in which comments and trailing commas are allowed, as in a tsconfig.
 * Undefined when there is none.
 */
export function readJsonObject(file: string): JsonObject | undefined {
  try {
    const text = readFileSync(file, 'utf8').replace(/^\uFEFF/, '')
    return asObject(parseLoose(text))
  } catch {
    return undefined
  }
}

export function asObject(value: unknown): JsonObject | undefined {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isObject ? (value as JsonObject) : undefined
}

export function asStrings(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []
}

function parseLoose(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return JSON.parse(withoutTrailingCommas(withoutComments(text)))
  }
}

const stringOr = (other: string): RegExp => new RegExp(`"(?:[^"\\\\]|\\\\.)*"|${other}`, 'gs')

function withoutComments(text: string): string {
  return text.replace(stringOr('//[^\\n]*|/\\*.*?\\*/'), (found) =>
    found.startsWith('"') ? found : ' ',
  )
}

function withoutTrailingCommas(text: string): string {
  return text.replace(stringOr(',(?=\\s*[}\\]])'), (found) => (found.startsWith('"') ? found : ''))
}

/**
 * The file `heddle-analyze.json`. Everything has a default, so most projects need none.
 *
 * A key that is not known is an error, not a shrug: `exlude` would otherwise exclude nothing for years.
 */
import { suggest } from '@heddle/core/lowlevel'
import { rulePage } from '../explain/pages.ts'
import { suggestRule } from '../explain/suggest.ts'
import { levels, type Level } from '../finding.ts'

export const configName = 'heddle-analyze.json'

export const failOnChoices = ['new', 'any', 'never'] as const

/** Which findings make the exit code 1. */
export type FailOn = (typeof failOnChoices)[number]

export type RuleSetting = 'off' | Level

export interface Config {
  /** Paths and globs that are analysed when the command names none, from the folder of the file. */
  readonly include?: readonly string[]
  /** Globs of files that are left out, from the folder of the file. */
  readonly exclude?: readonly string[]
  /** Findings below it are not shown. */
  readonly level?: Level
  /** A rule is switched off, or its findings get this level. By `H101`. */
  readonly rules?: Readonly<Record<string, RuleSetting>>
  /** `none` does not ask the compiler. */
  readonly types?: 'auto' | 'none'
  /** Files with models of packages, beside the built-in ones, from the folder of the file. */
  readonly models?: readonly string[]
  /** Functions and methods that run the function they are given alone: `withTenantLock`. */
  readonly guards?: readonly string[]
  /** The path from the folder of the file. */
  readonly baseline?: string
  readonly failOn?: FailOn
}

/** A fault of a file, with a suggestion. */
export interface ConfigProblem {
  readonly problem: string
  readonly suggestion?: string | undefined
}

type Read<K extends keyof Config> = (value: unknown) => NonNullable<Config[K]> | ConfigProblem

const readers: { readonly [K in keyof Config]-?: Read<K> } = {
  include: texts('include'),
  exclude: texts('exclude'),
  level: oneOf('level', levels),
  rules: readRules,
  types: oneOf('types', ['auto', 'none']),
  models: texts('models'),
  guards: texts('guards'),
  baseline: (value) => (isText(value) ? value : wrong('baseline', 'the path of a file', value)),
  failOn: oneOf('failOn', failOnChoices),
}

const keys = Object.keys(readers) as (keyof Config)[]

export function isProblem(value: object): value is ConfigProblem {
  return 'problem' in value
}

export function parseConfig(text: string): Config | ConfigProblem {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    return { problem: `is not JSON (${(error as Error).message})` }
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { problem: `must be an object, not ${show(value)}` }
  const config: Record<string, unknown> = {}
  for (const [key, given] of Object.entries(value)) {
    // Editors look for it.
    if (key === '$schema') continue
    if (!Object.hasOwn(readers, key))
      return { problem: `has an unknown key "${key}"`, suggestion: suggest(key, keys) }
    const read = readers[key as keyof Config](given)
    if (typeof read === 'object' && isProblem(read)) return read
    config[key] = read
  }
  return config
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

function texts(key: string) {
  return (value: unknown): readonly string[] | ConfigProblem =>
    Array.isArray(value) && value.every(isText) ? value : wrong(key, 'a list of texts', value)
}

function oneOf<T extends string>(key: string, choices: readonly T[]) {
  return (value: unknown): T | ConfigProblem => {
    const found = choices.find((choice) => choice === value)
    if (found !== undefined) return found
    const expected = `one of ${choices.map((choice) => `"${choice}"`).join(', ')}`
    const meant = typeof value === 'string' ? suggest(value, choices) : undefined
    return { ...wrong(key, expected, value), suggestion: meant }
  }
}

const settings: readonly RuleSetting[] = ['off', ...levels]

function readRules(value: unknown): Readonly<Record<string, RuleSetting>> | ConfigProblem {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return wrong('rules', 'an object such as { "H405": "off" }', value)
  const rules: Record<string, RuleSetting> = {}
  for (const [rule, given] of Object.entries(value)) {
    const id = rulePage(rule)?.id
    if (id === undefined)
      return { problem: `has an unknown rule "${rule}" in "rules"`, suggestion: suggestRule(rule) }
    const setting = oneOf(`rules.${rule}`, settings)(given)
    if (typeof setting === 'object') return setting
    rules[id] = setting
  }
  return rules
}

function wrong(key: string, expected: string, value: unknown): ConfigProblem {
  return { problem: `wants ${expected} for "${key}", not ${show(value)}` }
}

function show(value: unknown): string {
  const text = JSON.stringify(value)
  return text.length <= 60 ? text : `${text.slice(0, 59)}…`
}

/**
 * The mechanisms of `mechanisms.ts`, cut into several functions.
 *
 * Programs seldom have a check, the suspension after it and the act in one function. Each cut moves one of
 * the three into a helper of the same component, in a way that changes nothing about the order of the steps. So a race
 * found in one function has to be found in two, and silent code has to stay silent.
 */
import type { Mechanism, Method } from './mechanisms.ts'

export const cuts = [
  /** State is written by setters. */
  'setters',
  /** Conditions ask getters. */
  'getters',
  /** The code after the first suspension is in a function that is called there. */
  'act in a callee',
  /** The first suspension and the code after it are in a function that is awaited. */
  'wait and act in a callee',
  /** The suspension is in a function that is waited for. */
  'wait in a callee',
  /** The lines before the first suspension are in a function that says whether to continue. */
  'check in a callee',
] as const
export type Cut = (typeof cuts)[number]

const suspension = /^await (?:(\w+) = )?(.+)\((.*)\)$/
const capital = (name: string): string => name[0]!.toUpperCase() + name.slice(1)

/** The mechanism with its methods cut, or undefined where there is nothing to cut. */
export function cutMechanism(mechanism: Mechanism, cut: Cut): Mechanism | undefined {
  const methods = mechanism.methods.flatMap((one) => cutMethod(one, cut))
  if (methods.length === mechanism.methods.length) return undefined
  const repaired = mechanism.repaired.flatMap((one) => cutMethod(one, cut))
  return {
    ...mechanism,
    methods: unique(methods),
    repaired: unique([...unusedIn(mechanism, cut), ...repaired]),
  }
}

/** Helpers of methods that are repaired: the repaired twin does not call them, so they do nothing there. */
function unusedIn({ methods, repaired }: Mechanism, cut: Cut): Method[] {
  return methods
    .filter(({ name }) => repaired.some((one) => one.name === name))
    .flatMap((one) => cutMethod(one, cut).slice(1))
    .map((helper) => ({ ...helper, body: [] }))
}

function unique(methods: readonly Method[]): Method[] {
  return [...new Map(methods.map((one) => [one.name, one])).values()]
}

function cutMethod(method: Method, cut: Cut): Method[] {
  switch (cut) {
    case 'setters':
      return withSetters(method)
    case 'getters':
      return withGetters(method)
    case 'act in a callee':
    case 'wait and act in a callee':
    case 'wait in a callee':
    case 'check in a callee':
      return withParts(method, cut)
  }
}

function withSetters(method: Method): Method[] {
  const helpers: Method[] = []
  const body = method.body.map((line) =>
    line.replace(/^((?:if \(.*\) )?)\$(\w+) = (.+)$/, (_, before: string, name: string, value) => {
      helpers.push({ name: `set${capital(name)}`, params: ['value'], body: [`$${name} = value`] })
      return `${before}@set${capital(name)}(${value})`
    }),
  )
  return [{ ...method, body }, ...helpers]
}

function withGetters(method: Method): Method[] {
  const helpers: Method[] = []
  const body = method.body.map((line) =>
    line.replace(/^if \(.*?\)(?= |$)/, (condition) =>
      condition.replaceAll(/\$(\w+)(?![.\w])/g, (_, name: string) => {
        helpers.push({ name: `get${capital(name)}`, body: [`return $${name}`] })
        return `@get${capital(name)}()`
      }),
    ),
  )
  return [{ ...method, body }, ...helpers]
}

function withParts(method: Method, cut: Exclude<Cut, 'setters' | 'getters'>): Method[] {
  const { body, name, params = [] } = method
  const at = body.findIndex((line) => suspension.test(line))
  const isOpen = (lines: readonly string[]): boolean =>
    lines.join('').split('{').length !== lines.join('').split('}').length
  if (at === -1 || isOpen(body.slice(0, at))) return [method]
  const before = body.slice(0, at)
  const wait = body[at]!
  const after = body.slice(at + 1)
  const [, answer, , args = ''] = suspension.exec(wait)!
  const locals = before.flatMap((line) => /^(?:const|let) (\w+)/.exec(line)?.[1] ?? [])
  const known = [...params, ...locals]
  const usedBy = (lines: readonly string[], names: readonly string[]): string[] =>
    names.filter((one) => new RegExp(`(?<![$\\w])${one}\\b`).test(lines.join('\n')))
  const returns = after.some((line) => /\breturn (?!;|void)/.test(line))
  switch (cut) {
    case 'act in a callee': {
      if (after.length === 0) return [method]
      const given = usedBy(after, answer === undefined ? known : [...known, answer])
      const call = `@${name}Later(${given.join(', ')})`
      const helper = { name: `${name}Later`, params: given, body: after }
      const isSlow = after.some((line) => suspension.test(line))
      const calling = isSlow ? `await ${call}` : returns ? `return ${call}` : call
      return [{ ...method, body: [...before, wait, calling] }, helper]
    }
    case 'wait and act in a callee': {
      if (before.length === 0 || after.length === 0) return [method]
      const given = usedBy([wait, ...after], known)
      const helper = { name: `${name}Slowly`, params: given, body: [wait, ...after] }
      const call = `${name}Slowly(${given.join(', ')})`
      const ending = returns ? [`await done = @${call}`, 'return done'] : [`await @${call}`]
      return [{ ...method, body: [...before, ...ending] }, helper]
    }
    case 'wait in a callee': {
      const given = usedBy([args], known)
      const helper = {
        name: `${name}Wait`,
        params: given,
        body: [wait.replace(/^await (?:\w+ = )?/, 'await got = '), 'return got'],
      }
      const call = `@${name}Wait(${given.join(', ')})`
      const waited = answer === undefined ? `await ${call}` : `await ${answer} = ${call}`
      return [{ ...method, body: [...before, waited, ...after] }, helper]
    }
    case 'check in a callee': {
      // Only what decides whether to continue, and leaves nothing behind in a variable.
      const isGate = before.length > 0 && before.every((line) => /^if \(.*\) return;?$/.test(line))
      if (!isGate) return [method]
      const helper = {
        name: `${name}May`,
        params: usedBy(before, params),
        body: [...before.map((line) => line.replace(/return;?$/, 'return false')), 'return true'],
      }
      const ask = `if (!@${name}May(${helper.params.join(', ')})) return`
      return [{ ...method, body: [ask, wait, ...after] }, helper]
    }
  }
}

/**
 * Functions of a file that run the function they are given at once: `attempt(() => …)` of one's own.
 *
 * The names in callbacks.ts say it for common libraries. For functions in the same file the
 * code itself shows it: a parameter that is called, before anything was awaited, and is used for
 * nothing else, has run when the call returns (or waits for nothing but itself).
 *
 * Looked for only when a call hands over a function and its name says nothing; each function is read
 * once. Known limit: functions of other files, and methods that are not called on `this`.
 */
import type { Node, Program } from 'oxc-parser'
import { isFunctionNode, keyName } from './nodes.ts'
import type { AnyFunction } from './nodes.ts'

export class OwnCallbacks {
  readonly #program: Program
  #functions: ReadonlyMap<string, readonly AnyFunction[]> | undefined
  readonly #answers = new Map<string, boolean>()

  constructor(program: Program) {
    this.#program = program
  }

  /** Whether every function of this name in the file runs its argument `index` at once. */
  runsAtOnce(name: string, index: number): boolean {
    const question = `${index} ${name}`
    const known = this.#answers.get(question)
    if (known !== undefined) return known
    this.#functions ??= functionsOf(this.#program)
    const found = this.#functions.get(name) ?? []
    const answer = found.length > 0 && found.every((one) => callsAtOnce(one, index))
    this.#answers.set(question, answer)
    return answer
  }
}

/** Functions and methods at the top of the file: deeper ones seldom take functions. */
function functionsOf(program: Program): ReadonlyMap<string, readonly AnyFunction[]> {
  const found = new Map<string, AnyFunction[]>()
  const add = (name: string | undefined, node: AnyFunction): void => {
    if (name === undefined) return
    const others = found.get(name)
    if (others === undefined) found.set(name, [node])
    else others.push(node)
  }
  for (const statement of program.body) {
    const declared =
      (statement.type === 'ExportNamedDeclaration' ||
        statement.type === 'ExportDefaultDeclaration') &&
      statement.declaration !== null
        ? statement.declaration
        : statement
    if (declared.type === 'FunctionDeclaration') add(declared.id?.name, declared)
    if (declared.type === 'ClassDeclaration' || declared.type === 'ClassExpression') {
      for (const member of declared.body.body) {
        if (member.type === 'MethodDefinition') {
          add(keyName(member.key, member.computed), member.value)
        }
      }
    }
    if (declared.type === 'VariableDeclaration') {
      for (const { id, init } of declared.declarations) {
        if (id.type === 'Identifier' && init !== null && isFunctionNode(init)) add(id.name, init)
      }
    }
  }
  return found
}

function callsAtOnce(node: AnyFunction, index: number): boolean {
  const parameter = node.params[index]
  if (parameter?.type !== 'Identifier' || node.generator || node.body === null) return false
  const use = new ParameterUse(parameter.name)
  use.visit(node.body, 0)
  return use.calls.length > 0 && !use.escapes && use.calls.every((at) => at < use.firstWait)
}

/** Code that is nested deeper is not read: it is generated. */
const deepest = 400

class ParameterUse {
  readonly #name: string
  #level = 0
  /** Where it is called. */
  readonly calls: number[] = []
  /** It is used in another way: stored, passed on, called by a function inside. */
  escapes = false
  /** Where the first suspension ends. */
  firstWait = Infinity

  constructor(name: string) {
    this.#name = name
  }

  visit(node: Node, depth: number): void {
    if (this.escapes) return
    if (node.type === 'Identifier') {
      if (node.name === this.#name) this.escapes = true
      return
    }
    if (++this.#level > deepest) this.escapes = true
    this.#look(node, depth)
    this.#level--
  }

  #look(node: Node, depth: number): void {
    if (node.type === 'CallExpression' && depth === 0 && this.#isName(node.callee)) {
      this.calls.push(node.start)
      for (const argument of node.arguments) this.visit(argument, depth)
      return
    }
    if (node.type === 'AwaitExpression' && depth === 0)
      this.firstWait = Math.min(this.firstWait, node.end)
    if (node.type === 'ForOfStatement' && node.await) this.firstWait = -1
    const isInner = node.type === 'FunctionDeclaration' || isFunctionNode(node)
    this.#visitChildren(node, isInner ? depth + 1 : depth)
  }

  #visitChildren(node: Node, depth: number): void {
    for (const [key, value] of Object.entries(node)) {
      // The name of a property is not the parameter.
      if (isNameKey(node, key)) continue
      if (Array.isArray(value)) {
        for (const item of value) if (isNode(item)) this.visit(item, depth)
      } else if (isNode(value)) this.visit(value, depth)
    }
  }

  #isName(node: Node): boolean {
    return node.type === 'Identifier' && node.name === this.#name
  }
}

function isNameKey(node: Node, key: string): boolean {
  if (node.type === 'MemberExpression') return key === 'property' && !node.computed
  if (node.type === 'Property') return key === 'key' && !node.computed && !node.shorthand
  return false
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value
}

/**
 * Variables of a function that the functions inside it share: declared there, used by an inner function,
 * and changed after that, in any of them.
 *
 *     function watch(source) {
 *       let subscription                                   shared: the callback stores it,
 *       prepare().then(() => { subscription = source.subscribe() })
 *       return () => subscription?.unsubscribe()           and the function that is handed out reads it
 *     }
 *
 * The lowering needs to know before it meets the first use, because a callback is lowered before the
 * functions behind it are. So the tree is walked once, with names only. Blocks of one function count as
 * one scope: a name that two blocks declare is taken for one variable, which at worst is checked
 * without need.
 */
import { visitorKeys } from 'oxc-parser'
import type { Node, Program } from 'oxc-parser'
import { eachName } from './scope.ts'

interface Frame {
  readonly start: number
  readonly declared: Set<string>
  /** Names that it uses or changes itself. */
  readonly used: Set<string>
  readonly changed: Set<string>
  /** Names that functions inside it use or change, and do not declare. */
  readonly usedInside: Set<string>
  readonly changedInside: Set<string>
}

/** Deeper trees are cut, as the lowering does. */
const deepest = 800

type Fields = Readonly<Record<string, unknown>>

export class SharedVariables {
  readonly #shared = new Set<string>()
  #depth = 0

  constructor(program: Program) {
    for (const statement of program.body) this.#visit(statement, undefined)
  }

  /** @param start Of the function that declares the name. */
  has(start: number, name: string): boolean {
    return this.#shared.has(`${start}:${name}`)
  }

  #visit(node: Node, frame: Frame | undefined): void {
    switch (node.type) {
      case 'Identifier':
        frame?.used.add(node.name)
        return
      case 'FunctionDeclaration':
      case 'FunctionExpression':
      case 'ArrowFunctionExpression':
        this.#visitFunction(node, frame)
        return
      case 'VariableDeclaration':
        if (frame !== undefined && node.kind !== 'const')
          for (const { id } of node.declarations) eachName(id, (name) => frame.declared.add(name))
        break
      case 'AssignmentExpression':
        if (frame !== undefined) changeAll(node.left, frame)
        break
      case 'UpdateExpression':
        if (frame !== undefined) changeAll(node.argument, frame)
        break
      case 'ForInStatement':
      case 'ForOfStatement':
        if (frame !== undefined && node.left.type !== 'VariableDeclaration')
          changeAll(node.left, frame)
        break
      case 'MemberExpression':
        this.#visit(node.object, frame)
        if (node.computed) this.#visit(node.property, frame)
        return
      case 'Property':
        if (node.computed) this.#visit(node.key, frame)
        this.#visit(node.value, frame)
        return
      default:
    }
    this.#visitChildren(node, frame)
  }

  #visitChildren(node: Node, frame: Frame | undefined): void {
    if (this.#depth >= deepest) return
    this.#depth++
    const fields = node as unknown as Fields
    for (const key of visitorKeys[node.type] ?? []) {
      const value = fields[key]
      if (Array.isArray(value)) {
        for (const item of value) if (isNode(item)) this.#visit(item, frame)
      } else if (isNode(value)) this.#visit(value, frame)
    }
    this.#depth--
  }

  #visitFunction(node: Node & { start: number }, outer: Frame | undefined): void {
    const frame: Frame = {
      start: node.start,
      declared: new Set(),
      used: new Set(),
      changed: new Set(),
      usedInside: new Set(),
      changedInside: new Set(),
    }
    this.#visitChildren(node, frame)
    for (const name of frame.declared)
      if (frame.changedInside.has(name) || (frame.changed.has(name) && frame.usedInside.has(name)))
        this.#shared.add(`${frame.start}:${name}`)
    if (outer === undefined) return
    passOn(frame.used, frame, outer.usedInside)
    passOn(frame.usedInside, frame, outer.usedInside)
    passOn(frame.changed, frame, outer.changedInside)
    passOn(frame.changedInside, frame, outer.changedInside)
  }
}

function passOn(names: ReadonlySet<string>, { declared }: Frame, to: Set<string>): void {
  for (const name of names) if (!declared.has(name)) to.add(name)
}

function changeAll(target: Node, { changed }: Frame): void {
  eachName(target, (name) => changed.add(name))
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value
}

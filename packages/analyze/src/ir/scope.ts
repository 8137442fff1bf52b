/**
 * Names and their meanings: lexical scopes with hoisting, made as the lowering enters them.
 *
 * I1. All names of a scope are declared before its first statement is lowered, so functions may be
 *     used before the line they are written on.
 */
import type { BindingPattern, Node, ParamPattern, Statement, VariableDeclaration } from 'oxc-parser'
import { typeNameOf } from './nodes.ts'
import type { ClassUnit, FunctionUnit } from './program.ts'
import { unknown } from './values.ts'
import type { Value } from './values.ts'

export interface Binding {
  readonly id: number
  readonly name: string
  readonly kind: 'param' | 'var' | 'let' | 'const' | 'function' | 'class' | 'import' | 'catch'
  /** The function it is declared in. */
  readonly unit: FunctionUnit
  readonly typeName: string | undefined
  /** The value it holds, as far as the lowering has come. */
  value: Value
  assignments: number
  function: FunctionUnit | undefined
  class: ClassUnit | undefined
  import: { readonly source: string; readonly name: string } | undefined
  /** `require('x')` or `import * as x`: members are exports of the module. */
  module: string | undefined
}

let nextBinding = 0

export class Scope {
  readonly parent: Scope | undefined
  readonly unit: FunctionUnit
  /** Most scopes are those of small functions and declare nothing. */
  #bindings: Map<string, Binding> | undefined

  constructor(parent: Scope | undefined, unit: FunctionUnit) {
    this.parent = parent
    this.unit = unit
  }

  declare(name: string, kind: Binding['kind'], typeName?: string): Binding {
    const known = this.#bindings?.get(name)
    if (known !== undefined) return known
    const binding: Binding = {
      id: nextBinding++,
      name,
      kind,
      unit: this.unit,
      typeName,
      value: unknown,
      assignments: 0,
      function: undefined,
      class: undefined,
      import: undefined,
      module: undefined,
    }
    this.#bindings ??= new Map()
    this.#bindings.set(name, binding)
    return binding
  }

  own(name: string): Binding | undefined {
    return this.#bindings?.get(name)
  }

  find(name: string): Binding | undefined {
    return this.#bindings?.get(name) ?? this.parent?.find(name)
  }
}

/** Calls back with every name that a pattern binds. */
export function eachName(
  pattern: ParamPattern | BindingPattern | Node | null,
  visit: (name: string, type: string | undefined) => void,
): void {
  if (pattern === null) return
  switch (pattern.type) {
    case 'Identifier':
      visit(
        pattern.name,
        typeNameOf('typeAnnotation' in pattern ? pattern.typeAnnotation : undefined),
      )
      return
    case 'AssignmentPattern':
      eachName(pattern.left, visit)
      return
    case 'RestElement':
      eachName(pattern.argument, visit)
      return
    case 'TSParameterProperty':
      eachName(pattern.parameter, visit)
      return
    case 'ArrayPattern':
      for (const element of pattern.elements) eachName(element, visit)
      return
    case 'ObjectPattern':
      for (const property of pattern.properties)
        eachName(property.type === 'RestElement' ? property.argument : property.value, visit)
      return
    default:
  }
}

/** Declares the `var`s of a function, wherever in its statements they are. */
export function hoistVars(statements: readonly Node[], scope: Scope): void {
  const stack: (Node | null | undefined)[] = [...statements].reverse()
  while (stack.length > 0) {
    const node = stack.pop()
    switch (node?.type) {
      case 'VariableDeclaration':
        if (node.kind === 'var') declareAll(node, scope)
        break
      case 'BlockStatement':
        for (const statement of node.body) stack.push(statement)
        break
      case 'IfStatement':
        stack.push(node.consequent, node.alternate)
        break
      case 'ForStatement':
        stack.push(node.init, node.body)
        break
      case 'ForInStatement':
      case 'ForOfStatement':
        stack.push(node.left, node.body)
        break
      case 'WhileStatement':
      case 'DoWhileStatement':
      case 'LabeledStatement':
      case 'WithStatement':
        stack.push(node.body)
        break
      case 'TryStatement':
        stack.push(node.block, node.handler?.body, node.finalizer)
        break
      case 'SwitchStatement':
        for (const part of node.cases) stack.push(...part.consequent)
        break
      case 'ExportNamedDeclaration':
        stack.push(node.declaration)
        break
      default:
        break
    }
  }
}

/** True when a list of statements declares names of its own. */
export function declaresNames(statements: readonly Statement[]): boolean {
  return statements.some(
    (statement) =>
      (statement.type === 'VariableDeclaration' && statement.kind !== 'var') ||
      statement.type === 'FunctionDeclaration' ||
      statement.type === 'ClassDeclaration',
  )
}

export function declareAll(declaration: VariableDeclaration, scope: Scope): void {
  const kind = declaration.kind === 'var' || declaration.kind === 'let' ? declaration.kind : 'const'
  for (const { id } of declaration.declarations)
    eachName(id, (name, type) => scope.declare(name, kind, type))
}

/** One run over the statements of a module: see `evaluate.ts` for its purpose and its state. */
import type { Expression, Node, Statement } from 'oxc-parser'
import { keyName, unwrap } from '../../ir/nodes.ts'
import type { FileUnit } from '../../ir/program.ts'
import { callMethod } from './methods.ts'
import {
  fieldOf,
  isFunctionValue,
  isObject,
  isPrimitive,
  list,
  Names,
  newPattern,
  object,
  truth,
  unknown,
} from './value.ts'
import type { FunctionValue, ObjectValue, Value } from './value.ts'

const maxSteps = 20_000
const maxDepth = 60
const maxText = 20_000

export interface Module {
  readonly names: Names
  readonly exports: ObjectValue
}

type Outcome = { readonly returned: Value } | undefined

export class Run {
  readonly #file: FileUnit
  readonly #import: (from: FileUnit, specifier: string) => ObjectValue | undefined
  #steps = 0
  #depth = 0

  constructor(
    file: FileUnit,
    importer: (from: FileUnit, specifier: string) => ObjectValue | undefined,
  ) {
    this.#file = file
    this.#import = importer
  }

  module(body: readonly Statement[], { names, exports }: Module): void {
    const holder = object()
    holder.fields.set('exports', exports)
    names.declare('module', holder)
    names.declare('exports', exports)
    this.#block(body, names, exports)
    const replaced = holder.fields.get('exports')
    if (replaced !== undefined && isObject(replaced) && replaced !== exports) {
      for (const [name, value] of replaced.fields) exports.fields.set(name, value)
    }
  }

  #block(body: readonly Statement[], names: Names, exports?: ObjectValue): Outcome {
    for (const statement of body) {
      if (statement.type === 'FunctionDeclaration' && statement.id !== null) {
        names.declare(statement.id.name, { kind: 'function', node: statement, scope: names })
      }
    }
    for (const statement of body) {
      const outcome = this.#statement(statement, names, exports)
      if (outcome !== undefined) return outcome
    }
    return undefined
  }

  #statement(node: Statement, names: Names, exports?: ObjectValue): Outcome {
    if (this.#isSpent()) return undefined
    if (node.type === 'VariableDeclaration') {
      for (const { id, init } of node.declarations) {
        this.#bind(id, init === null ? undefined : this.expression(init, names), names)
      }
    } else if (node.type === 'ExpressionStatement') {
      this.expression(node.expression, names)
    } else if (node.type === 'ReturnStatement') {
      return {
        returned: node.argument === null ? undefined : this.expression(node.argument, names),
      }
    } else if (node.type === 'BlockStatement') {
      return this.#block(node.body, new Names(names))
    } else if (node.type === 'IfStatement') {
      const test = truth(this.expression(node.test, names))
      const branch = test === undefined ? null : test ? node.consequent : node.alternate
      return branch === null ? undefined : this.#statement(branch, names)
    } else if (node.type === 'ForOfStatement') {
      return this.#forOf(node, names)
    } else if (node.type === 'ExportNamedDeclaration' && node.declaration !== null) {
      const outcome = this.#statement(node.declaration, names)
      if (node.declaration.type === 'VariableDeclaration' && exports !== undefined) {
        for (const { id } of node.declaration.declarations) {
          if (id.type === 'Identifier') exports.fields.set(id.name, names.get(id.name))
        }
      }
      return outcome
    } else if (node.type === 'ImportDeclaration') {
      this.#importNames(node, names)
    }
    return undefined
  }

  #forOf(node: Extract<Statement, { type: 'ForOfStatement' }>, names: Names): Outcome {
    const items = this.expression(node.right, names)
    if (!isObject(items) || node.left.type !== 'VariableDeclaration') return undefined
    for (const item of items.fields.values()) {
      const inner = new Names(names)
      this.#bind((node.left.declarations[0] as { id: Node }).id, item, inner)
      const outcome = this.#statement(node.body, inner)
      if (outcome !== undefined) return outcome
    }
    return undefined
  }

  #importNames(node: Extract<Statement, { type: 'ImportDeclaration' }>, names: Names): void {
    const exports = this.#import(this.#file, node.source.value)
    if (exports === undefined) return
    for (const specifier of node.specifiers) {
      if (specifier.type !== 'ImportSpecifier') continue
      const name =
        specifier.imported.type === 'Literal' ? specifier.imported.value : specifier.imported.name
      names.declare(specifier.local.name, exports.fields.get(name) ?? unknown)
    }
  }

  #bind(pattern: Node, value: Value, names: Names): void {
    if (pattern.type === 'Identifier') {
      names.declare(pattern.name, value)
    } else if (pattern.type === 'AssignmentPattern') {
      this.#bind(
        pattern.left,
        value === undefined ? this.expression(pattern.right, names) : value,
        names,
      )
    } else if (pattern.type === 'ObjectPattern') {
      for (const property of pattern.properties) {
        if (property.type !== 'Property') continue
        const key = keyName(property.key, property.computed)
        this.#bind(property.value, key === undefined ? unknown : fieldOf(value, key), names)
      }
    } else if (pattern.type === 'ArrayPattern') {
      pattern.elements.forEach((element, i) => {
        if (element !== null) this.#bind(element, fieldOf(value, String(i)), names)
      })
    }
  }

  expression(expression: Expression, names: Names): Value {
    if (this.#isSpent() || this.#depth > maxDepth) return unknown
    this.#depth += 1
    const value = this.#dispatch(unwrap(expression), names)
    this.#depth -= 1
    return typeof value === 'string' && value.length > maxText ? unknown : value
  }

  #dispatch(node: Expression, names: Names): Value {
    switch (node.type) {
      case 'Literal':
        if ('regex' in node) {
          return { kind: 'pattern', source: node.regex.pattern, flags: node.regex.flags }
        }
        return typeof node.value === 'bigint' ? unknown : node.value
      case 'Identifier':
        return node.name === 'undefined' ? undefined : names.get(node.name)
      case 'TemplateLiteral':
        return this.#template(node, names, ({ cooked }) => cooked ?? '')
      case 'TaggedTemplateExpression': {
        const tag = this.#file.parsed.text.slice(node.tag.start, node.tag.end)
        return tag === 'String.raw' ? this.#template(node.quasi, names, ({ raw }) => raw) : unknown
      }
      case 'BinaryExpression':
        return this.#binary(node, names)
      case 'LogicalExpression': {
        const left = this.expression(node.left, names)
        if (left === unknown) return unknown
        const isKept =
          node.operator === '??'
            ? left !== null && left !== undefined
            : truth(left) === (node.operator === '||')
        return isKept ? left : this.expression(node.right, names)
      }
      case 'ConditionalExpression': {
        const test = truth(this.expression(node.test, names))
        return test === undefined
          ? unknown
          : this.expression(test ? node.consequent : node.alternate, names)
      }
      case 'UnaryExpression': {
        const test =
          node.operator === '!' ? truth(this.expression(node.argument, names)) : undefined
        return test === undefined ? unknown : !test
      }
      case 'UpdateExpression': {
        const { argument } = node
        const before = argument.type === 'Identifier' ? names.get(argument.name) : unknown
        if (typeof before !== 'number' || argument.type !== 'Identifier') return unknown
        const after = node.operator === '++' ? before + 1 : before - 1
        names.set(argument.name, after)
        return node.prefix ? after : before
      }
      case 'ArrayExpression':
        return list(
          node.elements.map((one) =>
            one === null || one.type === 'SpreadElement' ? unknown : this.expression(one, names),
          ),
        )
      case 'ObjectExpression':
        return this.#object(node, names)
      case 'FunctionExpression':
      case 'ArrowFunctionExpression':
        return { kind: 'function', node, scope: names }
      case 'MemberExpression':
        return this.#member(node, names)
      case 'AssignmentExpression':
        return this.#assign(node, names)
      case 'NewExpression':
      case 'CallExpression':
        return this.#call(node, names)
      default:
        return unknown
    }
  }

  #template(
    node: Extract<Expression, { type: 'TemplateLiteral' }>,
    names: Names,
    textOf: (value: { readonly cooked?: string | null; readonly raw: string }) => string,
  ): Value {
    let text = ''
    for (const [i, { value }] of node.quasis.entries()) {
      text += textOf(value)
      const expression = node.expressions[i]
      if (expression === undefined) continue
      const inner = this.expression(expression, names)
      if (!isPrimitive(inner)) return unknown
      text += String(inner)
    }
    return text
  }

  #binary(node: Extract<Expression, { type: 'BinaryExpression' }>, names: Names): Value {
    const left = this.expression(node.left as Expression, names)
    const right = this.expression(node.right, names)
    if (!isPrimitive(left) || !isPrimitive(right)) return unknown
    switch (node.operator) {
      case '+':
        return typeof left === 'number' && typeof right === 'number'
          ? left + right
          : String(left) + String(right)
      case '===':
      case '==':
        return left === right
      case '!==':
      case '!=':
        return left !== right
      default:
        return unknown
    }
  }

  #object(node: Extract<Expression, { type: 'ObjectExpression' }>, names: Names): Value {
    const made = object()
    for (const property of node.properties) {
      if (property.type === 'SpreadElement') {
        const spread = this.expression(property.argument, names)
        if (isObject(spread)) for (const [key, value] of spread.fields) made.fields.set(key, value)
        continue
      }
      const key = keyName(property.key, property.computed)
      if (key !== undefined) made.fields.set(key, this.expression(property.value, names))
    }
    return made
  }

  #member(node: Extract<Expression, { type: 'MemberExpression' }>, names: Names): Value {
    const owner = this.expression(node.object, names)
    const key = this.#key(node, names)
    return key === undefined ? unknown : fieldOf(owner, key)
  }

  #key(node: Extract<Expression, { type: 'MemberExpression' }>, names: Names): string | undefined {
    if (!node.computed) return keyName(node.property, false)
    const key = this.expression(node.property, names)
    return typeof key === 'string' || typeof key === 'number' ? String(key) : undefined
  }

  #assign(node: Extract<Expression, { type: 'AssignmentExpression' }>, names: Names): Value {
    const given = this.expression(node.right, names)
    const { left } = node
    const before = left.type === 'Identifier' ? names.get(left.name) : unknown
    const value =
      node.operator === '='
        ? given
        : node.operator === '+=' && typeof before === 'string' && typeof given === 'string'
          ? before + given
          : unknown
    if (left.type === 'Identifier') names.set(left.name, value)
    if (left.type === 'MemberExpression') {
      const owner = this.expression(left.object, names)
      const key = this.#key(left, names)
      if (isObject(owner) && key !== undefined) owner.fields.set(key, value)
    }
    return value
  }

  #call(
    node: Extract<Expression, { type: 'CallExpression' | 'NewExpression' }>,
    names: Names,
  ): Value {
    const callee = unwrap(node.callee)
    const values = node.arguments.map((one) =>
      one.type === 'SpreadElement' ? unknown : this.expression(one, names),
    )
    const [first, second] = values
    if (callee.type === 'Identifier' && !names.has(callee.name)) {
      if (callee.name === 'RegExp') return newPattern(first, second)
      if (callee.name === 'require' && typeof first === 'string') {
        return this.#import(this.#file, first) ?? unknown
      }
      return unknown
    }
    if (callee.type === 'MemberExpression') {
      const owner = this.expression(callee.object, names)
      const key = this.#key(callee, names)
      if (key === undefined) return unknown
      const method = isObject(owner) ? owner.fields.get(key) : undefined
      if (method !== undefined && isFunctionValue(method)) return this.#apply(method, values)
      return callMethod(owner, key, values)
    }
    const called = this.expression(callee, names)
    return isFunctionValue(called) ? this.#apply(called, values) : unknown
  }

  #apply({ node, scope }: FunctionValue, values: readonly Value[]): Value {
    const { params, body } = node as unknown as { params: readonly Node[]; body: Node | null }
    if (body === null || this.#depth > maxDepth) return unknown
    const names = new Names(scope)
    params.forEach((param, i) => this.#bind(param, values[i], names))
    if (body.type !== 'BlockStatement') return this.expression(body as Expression, names)
    this.#depth += 1
    const outcome = this.#block(body.body, names)
    this.#depth -= 1
    return outcome?.returned
  }

  #isSpent(): boolean {
    this.#steps += 1
    return this.#steps > maxSteps
  }
}

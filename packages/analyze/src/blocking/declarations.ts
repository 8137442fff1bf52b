/**
 * The declaration of a name, found by searching outwards from where it is used.
 *
 * The lowering has scopes of its own, but they hold values for race rules; here the declaring
 * expression itself is needed.
 */
import type { BindingPattern, Expression, Node, ParamPattern } from 'oxc-parser'
import { keyName } from '../ir/nodes.ts'
import { eachName } from '../ir/scope.ts'
import { isFunction } from './syntax.ts'

export type Declaration =
  | {
      readonly kind: 'parameter'
      readonly function: Node
      readonly index: number
      /** Fields taken out of the parameter by its pattern: `['body']` for `({ body })`. */
      readonly fields: readonly string[]
    }
  | {
      readonly kind: 'variable'
      readonly init: Expression | null
      readonly isConstant: boolean
      readonly fields: readonly string[]
      /** Declared at the top level of the module. */
      readonly isModuleLevel: boolean
      readonly around: Node
    }
  | { readonly kind: 'element'; readonly of: Expression }
  | { readonly kind: 'import'; readonly source: string; readonly name: string }
  | { readonly kind: 'other' }

/** `path` leads from the root to the use of the name. */
export function declarationOf(name: string, path: readonly Node[]): Declaration | undefined {
  for (let i = path.length - 1; i >= 0; i -= 1) {
    const found = declaredIn(path[i] as Node, name)
    if (found !== undefined) return found
  }
  return undefined
}

function declaredIn(node: Node, name: string): Declaration | undefined {
  if (isFunction(node)) return parameter(node, name)
  switch (node.type) {
    case 'Program':
    case 'BlockStatement':
    case 'StaticBlock':
      return inStatements(node.body, name, node)
    case 'SwitchCase':
      return inStatements(node.consequent, name, node)
    case 'ForStatement':
      return node.init === null ? undefined : inStatements([node.init], name, node)
    case 'ForOfStatement':
    case 'ForInStatement': {
      const { left } = node
      if (left.type !== 'VariableDeclaration') return undefined
      const isBound = left.declarations.some(({ id }) => fieldsTo(id, name) !== undefined)
      return isBound ? { kind: 'element', of: node.right } : undefined
    }
    case 'CatchClause':
      return node.param !== null && fieldsTo(node.param, name) !== undefined
        ? { kind: 'other' }
        : undefined
    default:
      return undefined
  }
}

function parameter(node: Node, name: string): Declaration | undefined {
  const { params } = node as unknown as { params: readonly ParamPattern[] }
  for (const [index, param] of params.entries()) {
    const fields = fieldsTo(param, name)
    if (fields !== undefined) return { kind: 'parameter', function: node, index, fields }
  }
  return undefined
}

const longList = 64
const indexes = new WeakMap<Node, ReadonlyMap<string, readonly Node[]>>()

/**
 * Only those of many statements that declare the name: a minified file is one list of everything.
 */
function declaring(statements: readonly Node[], name: string, around: Node): readonly Node[] {
  if (statements.length < longList) return statements
  let index = indexes.get(around)
  if (index === undefined) {
    index = indexOf(statements)
    indexes.set(around, index)
  }
  return index.get(name) ?? []
}

function indexOf(statements: readonly Node[]): ReadonlyMap<string, readonly Node[]> {
  const found = new Map<string, Node[]>()
  for (const statement of statements) {
    const node =
      statement.type === 'ExportNamedDeclaration' ? (statement.declaration ?? statement) : statement
    const add = (name: string): void => {
      const known = found.get(name)
      if (known === undefined) found.set(name, [statement])
      else known.push(statement)
    }
    if (node.type === 'VariableDeclaration') {
      for (const { id } of node.declarations) eachName(id, add)
    } else if (node.type === 'ImportDeclaration') {
      for (const { local } of node.specifiers) add(local.name)
    } else if (node.type === 'FunctionDeclaration' || node.type === 'ClassDeclaration') {
      if (node.id !== null) add(node.id.name)
    }
  }
  return found
}

function inStatements(
  statements: readonly Node[],
  name: string,
  around: Node,
): Declaration | undefined {
  for (const statement of declaring(statements, name, around)) {
    const node =
      statement.type === 'ExportNamedDeclaration' ? (statement.declaration ?? statement) : statement
    switch (node.type) {
      case 'VariableDeclaration':
        for (const { id, init } of node.declarations) {
          const fields = fieldsTo(id, name)
          if (fields === undefined) continue
          const isConstant = node.kind === 'const'
          return {
            kind: 'variable',
            init,
            isConstant,
            fields,
            isModuleLevel: around.type === 'Program',
            around,
          }
        }
        break
      case 'FunctionDeclaration':
      case 'ClassDeclaration':
        if (node.id?.name === name) return { kind: 'other' }
        break
      case 'ImportDeclaration':
        for (const specifier of node.specifiers) {
          if (specifier.local.name !== name) continue
          const imported =
            specifier.type === 'ImportSpecifier'
              ? specifier.imported.type === 'Literal'
                ? specifier.imported.value
                : specifier.imported.name
              : specifier.type === 'ImportDefaultSpecifier'
                ? 'default'
                : '*'
          return { kind: 'import', source: node.source.value, name: imported }
        }
        break
      default:
        break
    }
  }
  return undefined
}

/** The fields that lead to the name inside a pattern; undefined when the pattern does not bind it. */
function fieldsTo(
  pattern: ParamPattern | BindingPattern | Node,
  name: string,
): readonly string[] | undefined {
  switch (pattern.type) {
    case 'Identifier':
      return pattern.name === name ? [] : undefined
    case 'AssignmentPattern':
      return fieldsTo(pattern.left, name)
    case 'RestElement':
      return fieldsTo(pattern.argument, name)
    case 'TSParameterProperty':
      return fieldsTo(pattern.parameter, name)
    case 'ArrayPattern':
      for (const element of pattern.elements) {
        const fields = element === null ? undefined : fieldsTo(element, name)
        if (fields !== undefined) return fields
      }
      return undefined
    case 'ObjectPattern':
      for (const property of pattern.properties) {
        if (property.type === 'RestElement') {
          const fields = fieldsTo(property.argument, name)
          if (fields !== undefined) return fields
          continue
        }
        const fields = fieldsTo(property.value, name)
        if (fields !== undefined) return [keyName(property.key, property.computed) ?? '', ...fields]
      }
      return undefined
    default:
      return undefined
  }
}

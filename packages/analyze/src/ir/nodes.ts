/** Small questions to the tree that every part of the lowering asks. */
import type { ArrowFunctionExpression, Expression, Function, Node } from 'oxc-parser'

export type AnyNode = Node
export type AnyFunction = Function | ArrowFunctionExpression

/** Strips syntax without an effect at run time: `x!`, `x as T`, `x satisfies T`, `<T>x`, `(a?.b)`. */
export function unwrap(node: Expression): Expression {
  let at: Expression = node
  for (;;) {
    switch (at.type) {
      case 'TSNonNullExpression':
      case 'TSAsExpression':
      case 'TSSatisfiesExpression':
      case 'TSTypeAssertion':
      case 'TSInstantiationExpression':
      case 'ParenthesizedExpression':
      case 'ChainExpression':
        at = at.expression
        break
      default:
        return at
    }
  }
}

export function isFunctionNode(node: Node): node is AnyFunction {
  return node.type === 'FunctionExpression' || node.type === 'ArrowFunctionExpression'
}

/** The name of a property key that is written down; undefined when it is computed at run time. */
export function keyName(key: Node, computed: boolean): string | undefined {
  switch (key.type) {
    case 'Identifier':
      return computed ? undefined : key.name
    case 'PrivateIdentifier':
      return `#${key.name}`
    case 'Literal':
      return typeof key.value === 'string' || typeof key.value === 'number'
        ? String(key.value)
        : undefined
    default:
      return undefined
  }
}

/** `x` of `x`, `this` of `this`; the name of a simple thing. */
export function simpleName(node: Node | null | undefined): string | undefined {
  return node?.type === 'Identifier' ? node.name : undefined
}

/** `a` of `a.b.c`; undefined when it is not names only. */
export function rootNameOf(node: Expression): string | undefined {
  let at = node
  while (at.type === 'MemberExpression') {
    if (keyName(at.property, at.computed) === undefined) return undefined
    at = unwrap(at.object)
  }
  return at.type === 'Identifier' ? at.name : undefined
}

/** Shared by all that have no names after their root: most have none. */
export const noNames: readonly string[] = []

/** `b` and `c` of `a.b.c`, which is names only. */
export function namesAfterRoot(node: Expression): readonly string[] {
  if (node.type !== 'MemberExpression') return noNames
  const names = [keyName(node.property, node.computed) ?? '']
  for (let at = unwrap(node.object); at.type === 'MemberExpression'; at = unwrap(at.object))
    names.push(keyName(at.property, at.computed) ?? '')
  return names.length === 1 ? names : names.toReversed()
}

/** The name of the type in an annotation: `Map` of `Map<string, X>`; of unions, the one that is not null. */
export function typeNameOf(annotation: Node | null | undefined): string | undefined {
  let at: Node | null | undefined = annotation
  for (;;) {
    switch (at?.type) {
      case 'TSTypeAnnotation':
        at = at.typeAnnotation
        break
      case 'TSTypeReference': {
        const name: Node = at.typeName
        return name.type === 'Identifier'
          ? name.name
          : name.type === 'TSQualifiedName'
            ? name.right.name
            : undefined
      }
      case 'TSUnionType': {
        const named = at.types.filter((type) => type.type === 'TSTypeReference')
        if (named.length !== 1) return undefined
        at = named[0]
        break
      }
      case 'TSArrayType':
      case 'TSTupleType':
        return 'Array'
      case 'TSBooleanKeyword':
        return 'boolean'
      case 'TSNumberKeyword':
        return 'number'
      case 'TSStringKeyword':
        return 'string'
      default:
        return undefined
    }
  }
}

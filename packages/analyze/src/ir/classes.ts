/** Classes: their methods are hosts, their fields are locations. */
import type { Class, MethodDefinition, PropertyDefinition } from 'oxc-parser'
import { lowerExpression } from './expressions.ts'
import type { HostLowering } from './host.ts'
import { isFunctionNode, keyName, simpleName, typeNameOf, unwrap } from './nodes.ts'
import type { ClassUnit, FunctionUnit, Visibility } from './program.ts'
import { lowerStatements } from './statements.ts'
import type { Value } from './values.ts'

function classUnit(cx: HostLowering, node: Class, name: string): ClassUnit {
  return cx.file.classOf(node, () => {
    const superNode = node.superClass === null ? undefined : unwrap(node.superClass)
    const superName =
      simpleName(superNode) ??
      (superNode?.type === 'MemberExpression'
        ? keyName(superNode.property, superNode.computed)
        : undefined)
    return cx.file.newClass(name, node.start, node.end, superName, cx.scope)
  })
}

export function declareClass(cx: HostLowering, node: Class): void {
  if (node.id === null) return
  const binding = cx.scope.declare(node.id.name, 'class')
  binding.class ??= classUnit(cx, node, node.id.name)
}

export function lowerClass(cx: HostLowering, node: Class): ClassUnit {
  const name = node.id?.name ?? 'default'
  const owner = classUnit(cx, node, name)
  lowerMembers(cx, node, owner)
  return owner
}

export function lowerClassExpression(
  cx: HostLowering,
  node: Class,
  hint: string | undefined,
): Value {
  const owner = classUnit(cx, node, node.id?.name ?? hint ?? 'class')
  lowerMembers(cx, node, owner)
  return { classRef: owner }
}

function lowerMembers(cx: HostLowering, node: Class, owner: ClassUnit): void {
  if (node.superClass !== null) lowerExpression(cx, node.superClass)
  const fields: PropertyDefinition[] = []
  for (const element of node.body.body) {
    if (element.type === 'StaticBlock') lowerStatements(cx, element.body)
    else if (element.type === 'MethodDefinition') lowerMethod(cx, element, owner)
    else if (element.type === 'PropertyDefinition') {
      lowerField(cx, element, owner)
      if (element.value !== null && !isFunctionNode(element.value)) fields.push(element)
    }
  }
  if (fields.length > 0) cx.file.enqueueFields(owner, node, fields, cx.unit, cx.scope)
}

function visibilityOf(name: string, accessibility: string | null | undefined): Visibility {
  if (name.startsWith('#') || name.startsWith('_')) return 'private'
  return accessibility === 'private' || accessibility === 'protected' ? 'private' : 'public'
}

function lowerMethod(cx: HostLowering, element: MethodDefinition, owner: ClassUnit): void {
  if (element.value.body === null) return
  const name = keyName(element.key, element.computed) ?? computedName(cx, element)
  const unit = cx.file.unitOf(element.value, cx.unit, {
    name,
    kind:
      element.kind === 'constructor'
        ? 'constructor'
        : element.kind === 'get'
          ? 'getter'
          : element.kind === 'set'
            ? 'setter'
            : 'method',
    class: owner,
    isStatic: element.static,
    visibility: visibilityOf(name, element.accessibility),
  })
  register(owner, unit, name, element.static)
  if (element.kind === 'constructor') {
    for (const param of element.value.params) {
      if (param.type !== 'TSParameterProperty') continue
      const inner =
        param.parameter.type === 'AssignmentPattern' ? param.parameter.left : param.parameter
      const type = inner.type === 'Identifier' ? typeNameOf(inner.typeAnnotation) : undefined
      if (inner.type === 'Identifier' && type !== undefined) owner.fieldTypes.set(inner.name, type)
    }
  }
  cx.file.enqueue(unit, cx.scope, { instanceOf: owner })
}

function register(owner: ClassUnit, unit: FunctionUnit, name: string, isStatic: boolean): void {
  // A getter and a setter share a name; a read runs the getter.
  const table = isStatic ? owner.statics : owner.methods
  if (unit.kind !== 'setter' || !table.has(name)) table.set(name, unit)
}

function computedName(
  cx: HostLowering,
  element: { readonly key: { start: number; end: number } },
): string {
  return `[${cx.file.file.parsed.text.slice(element.key.start, element.key.end).slice(0, 40)}]`
}

function lowerField(cx: HostLowering, element: PropertyDefinition, owner: ClassUnit): void {
  const name = keyName(element.key, element.computed)
  if (name === undefined) return
  const type = typeNameOf(element.typeAnnotation)
  if (type !== undefined) owner.fieldTypes.set(name, type)
  if (element.value === null || !isFunctionNode(element.value)) return
  const unit = cx.file.unitOf(element.value, cx.unit, {
    name,
    kind: 'method',
    class: owner,
    isStatic: element.static,
    visibility: visibilityOf(name, element.accessibility),
  })
  register(owner, unit, name, element.static)
  cx.file.enqueue(unit, cx.scope, { instanceOf: owner })
}

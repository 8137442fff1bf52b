/** Imports and exports of both module systems. */
import type { Expression, ImportDeclaration, ModuleExportName, Node, Statement } from 'oxc-parser'
import { lowerExpression } from './expressions.ts'
import type { HostLowering } from './host.ts'
import { keyName, unwrap } from './nodes.ts'
import { eachName } from './scope.ts'
import { lowerStatement } from './statements.ts'
import { lowerClass } from './classes.ts'
import { assignPattern } from './assignments.ts'
import { unknown } from './values.ts'

function nameOf(name: ModuleExportName): string {
  return name.type === 'Literal' ? name.value : name.name
}

export function declareImport(cx: HostLowering, node: ImportDeclaration): void {
  for (const specifier of node.specifiers) {
    const binding = cx.scope.declare(specifier.local.name, 'import')
    const source = node.source.value
    if (specifier.type === 'ImportNamespaceSpecifier') binding.module = source
    else
      binding.import = {
        source,
        name: specifier.type === 'ImportDefaultSpecifier' ? 'default' : nameOf(specifier.imported),
      }
  }
}

type ModuleStatement = Extract<
  Statement,
  {
    type:
      | 'ImportDeclaration'
      | 'ExportNamedDeclaration'
      | 'ExportDefaultDeclaration'
      | 'ExportAllDeclaration'
      | 'TSExportAssignment'
  }
>

export function lowerModuleDeclaration(cx: HostLowering, node: ModuleStatement): void {
  const { exports, exportAll } = cx.file.file
  switch (node.type) {
    case 'ExportAllDeclaration':
      exportAll.push(node.source.value)
      break
    case 'ExportNamedDeclaration':
      if (node.declaration !== null) {
        eachDeclared(node.declaration, (name) => exports.set(name, { kind: 'local', name }))
        lowerStatement(cx, node.declaration)
      }
      for (const specifier of node.specifiers) {
        const local = nameOf(specifier.local)
        exports.set(
          nameOf(specifier.exported),
          node.source === null
            ? { kind: 'local', name: local }
            : { kind: 'from', source: node.source.value, name: local },
        )
      }
      break
    case 'ExportDefaultDeclaration':
      lowerDefault(cx, node.declaration)
      break
    default:
      break
  }
}

function lowerDefault(cx: HostLowering, declaration: Node): void {
  const { exports } = cx.file.file
  if (declaration.type === 'ClassDeclaration') {
    exports.set('default', { kind: 'class', class: lowerClass(cx, declaration) })
    return
  }
  if (declaration.type === 'FunctionDeclaration' && declaration.id !== null) {
    exports.set('default', { kind: 'local', name: declaration.id.name })
    return
  }
  if (declaration.type === 'TSInterfaceDeclaration') return
  const expression = declaration as Expression
  const value = lowerExpression(cx, expression, 'default')
  if (value.classRef !== undefined) exports.set('default', { kind: 'class', class: value.classRef })
  else if (value.unit !== undefined) exports.set('default', { kind: 'unit', unit: value.unit })
  else if (expression.type === 'Identifier')
    exports.set('default', { kind: 'local', name: expression.name })
  if (value.instanceOf !== undefined) value.instanceOf.isExported = true
}

function eachDeclared(node: Node, visit: (name: string) => void): void {
  if (node.type === 'VariableDeclaration')
    for (const { id } of node.declarations) eachName(id, visit)
  else if ((node.type === 'FunctionDeclaration' || node.type === 'ClassDeclaration') && node.id)
    visit(node.id.name)
}

/** `const x = require('y')` in its many spellings. True when it was one. */
export function lowerRequire(cx: HostLowering, id: Node, init: Expression): boolean {
  let at: Expression = unwrap(init)
  const path: string[] = []
  for (;;) {
    if (at.type === 'MemberExpression') {
      const name = keyName(at.property, at.computed)
      if (name === undefined) return false
      path.unshift(name)
      at = unwrap(at.object)
      continue
    }
    if (at.type !== 'CallExpression') return false
    const callee: Expression = unwrap(at.callee)
    const [arg] = at.arguments
    if (callee.type === 'Identifier' && callee.name === 'require') {
      if (arg?.type !== 'Literal' || typeof arg.value !== 'string') return false
      bindRequire(cx, id, arg.value, path)
      return true
    }
    const name =
      callee.type === 'Identifier'
        ? callee.name
        : callee.type === 'MemberExpression'
          ? keyName(callee.property, callee.computed)
          : undefined
    if (name === undefined || !/^_*(?:interop|import|to)/i.test(name) || arg === undefined)
      return false
    if (arg.type === 'SpreadElement') return false
    at = unwrap(arg)
  }
}

function bindRequire(cx: HostLowering, id: Node, source: string, path: readonly string[]): void {
  if (id.type === 'Identifier') {
    const binding = cx.scope.find(id.name)
    if (binding === undefined) return
    const name = path.at(-1)
    if (name === undefined) binding.module = source
    else binding.import = { source, name }
    return
  }
  if (id.type === 'ObjectPattern') {
    for (const property of id.properties) {
      if (property.type !== 'Property') continue
      const name = keyName(property.key, property.computed)
      const local =
        property.value.type === 'AssignmentPattern' ? property.value.left : property.value
      if (name === undefined || local.type !== 'Identifier') continue
      const binding = cx.scope.find(local.name)
      if (binding !== undefined) binding.import = { source, name }
    }
    return
  }
  assignPattern(cx, id, unknown, true)
}

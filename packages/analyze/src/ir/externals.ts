/** State outside of the process: files and rows, recognized by the names of calls. */
import type { Expression, Node } from 'oxc-parser'
import { keyNumber } from './expressions.ts'
import type { WriteKind } from './graph.ts'
import type { HostLowering } from './host.ts'
import { keyName, unwrap } from './nodes.ts'
import { unknown } from './values.ts'
import type { Value } from './values.ts'

const fileReads = new Set([
  'exists',
  'existsSync',
  'access',
  'accessSync',
  'stat',
  'statSync',
  'lstat',
  'lstatSync',
  'pathExists',
  'pathExistsSync',
])
const fileWrites = new Map<string, WriteKind>([
  ['writeFile', 'set'],
  ['writeFileSync', 'set'],
  ['mkdir', 'set'],
  ['mkdirSync', 'set'],
  ['symlink', 'set'],
  ['symlinkSync', 'set'],
  ['createWriteStream', 'set'],
  ['copyFile', 'set'],
  ['unlink', 'drop'],
  ['unlinkSync', 'drop'],
  ['rmdir', 'drop'],
  ['rename', 'set'],
  ['renameSync', 'set'],
])
const rowReads = new Set([
  'findOne',
  'findFirst',
  'findUnique',
  'findById',
  'countDocuments',
  'findOneBy',
])
const rowWrites = new Set(['create', 'insert', 'insertOne', 'insertMany', 'save'])
const fileModules = /^(?:node:)?fs(?:\/promises)?$|^(?:fs-extra|graceful-fs)$/

/** Emits a read or write of external state; undefined when the call is none. */
export function lowerExternalEffect(
  cx: HostLowering,
  callee: Expression,
  name: string,
  args: readonly Node[],
  isAwaited: boolean,
  node: { readonly start: number; readonly end: number },
): Value | undefined {
  const key = args[0]
  if (key === undefined || key.type === 'SpreadElement') return undefined
  if (fileReads.has(name) || fileWrites.has(name)) {
    if (!isFileModule(cx, callee)) return undefined
    const number = keyNumber(cx, key as Expression)
    if (number === undefined) return undefined
    const text = cx.file.file.parsed.text.slice(key.start, Math.min(key.end, key.start + 40))
    const location = cx.file.table.external(cx.file.file, 'file', number, `file ${text}`)
    return access(cx, location, fileReads.has(name), fileWrites.get(name) ?? 'set', args, node)
  }
  if (isAwaited && (rowReads.has(name) || rowWrites.has(name))) {
    const table = tableOf(callee)
    if (table === undefined) return undefined
    const location = cx.file.table.external(cx.file.file, 'rows', table, `rows of ${table}`)
    return access(cx, location, rowReads.has(name), 'set', args, node)
  }
  return undefined
}

function access(
  cx: HostLowering,
  location: ReturnType<HostLowering['file']['table']['external']>,
  isRead: boolean,
  kind: WriteKind,
  args: readonly Node[],
  node: { readonly start: number; readonly end: number },
): Value {
  if (isRead) return { reads: [cx.read(location, node.start, node.end)] }
  // Exclusive creation and recursive mkdir settle the race where it is decided: in the kernel.
  const text = args
    .slice(1)
    .map((arg) => cx.file.file.parsed.text.slice(arg.start, arg.end))
    .join()
  if (!/['"`](?:wx|ax|xw)|recursive|EXCL|upsert|ON CONFLICT/i.test(text))
    cx.write(location, kind, unknown, node.start, node.end)
  return unknown
}

function isFileModule(cx: HostLowering, callee: Expression): boolean {
  let at = callee
  while (at.type === 'MemberExpression') at = unwrap(at.object)
  if (at.type !== 'Identifier') return false
  const binding = cx.scope.find(at.name)
  const source = binding?.import?.source ?? binding?.module
  return source !== undefined && fileModules.test(source)
}

function tableOf(callee: Expression): string | undefined {
  if (callee.type !== 'MemberExpression') return undefined
  const object = unwrap(callee.object)
  const name =
    object.type === 'Identifier'
      ? object.name
      : object.type === 'MemberExpression'
        ? keyName(object.property, object.computed)
        : undefined
  return name === undefined || name === 'Object' ? undefined : name
}

import { parseTree, type Node } from 'jsonc-parser'
import { isDeepStrictEqual } from 'node:util'
import { badManifest, parseJsonManifest } from './manifest-text.ts'
import { replaceIn, valueAt, withValueAt, type ValueChange, type ValuePath } from './text-edit.ts'

/** If keys are equal, the last one counts, as for JSON.parse(). */
function nodeAt(tree: Node | undefined, path: ValuePath): Node | undefined {
  let node = tree
  for (const key of path) {
    if (node?.type === 'array') node = node.children?.[key as number]
    else {
      const property = node?.children?.findLast((child) => child.children?.[0]?.value === key)
      node = property?.children?.[1]
    }
  }
  return node
}

/**
 * Changes text values of a JSON file and leaves every other byte as it is.
 *
 * @throws `HDL_BAD_MANIFEST` when the text is not JSON, or does not have these values.
 */
export function editJson(file: string, text: string, changes: readonly ValueChange[]): string {
  const before = parseJsonManifest(file, text)
  const tree = parseTree(text)
  let expected: unknown = before
  const replacements = changes.map(({ path, value }) => {
    const node = nodeAt(tree, path)
    if (node?.type !== 'string' || node.value !== valueAt(before, path)) {
      throw badManifest(file, `${path.join('.')} is not a string`)
    }
    expected = withValueAt(expected, path, value)
    return { start: node.offset, end: node.offset + node.length, text: JSON.stringify(value) }
  })
  const edited = replaceIn(text, replacements)
  if (!isDeepStrictEqual(parseJsonManifest(file, edited), expected)) {
    throw badManifest(file, 'it cannot be changed without changing something else')
  }
  return edited
}

import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { TestContext } from 'node:test'

/** What stands in a file: text, or data that is written as JSON. */
export type Content = string | Readonly<Record<string, unknown>>

/** A folder with these files, removed after the test. Names that end in `@` are links. */
export async function makeTree(
  t: TestContext,
  files: Readonly<Record<string, Content>>,
): Promise<string> {
  const root = await realpath(await mkdtemp(path.join(tmpdir(), 'heddle-tree-')))
  t.after(() => rm(root, { recursive: true, force: true }))
  await addFiles(root, files)
  return root
}

export async function addFiles(
  root: string,
  files: Readonly<Record<string, Content>>,
): Promise<void> {
  for (const [name, content] of Object.entries(files)) {
    const isLink = name.endsWith('@')
    const file = path.join(root, isLink ? name.slice(0, -1) : name)
    await mkdir(path.dirname(file), { recursive: true })
    if (isLink) await symlink(content as string, file)
    else
      await writeFile(
        file,
        typeof content === 'string' ? content : JSON.stringify(content, undefined, 2),
      )
  }
}

/** A manifest with name, version and whatever else. */
export function manifest(
  name: string,
  version = '1.0.0',
  more: Readonly<Record<string, unknown>> = {},
): Content {
  return { name, version, ...more }
}

/** The problems that reading or planning complained about, as `file:line problem`. */
export function problemsOf(error: unknown): string[] {
  const { problems } = (
    error as { details: { problems: { file: string; line?: number; problem: string }[] } }
  ).details
  return problems.map(
    ({ file, line, problem }) => `${file}${line === undefined ? '' : `:${line}`} ${problem}`,
  )
}

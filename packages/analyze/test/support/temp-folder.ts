import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { TestContext } from 'node:test'

export type Files = Readonly<Record<string, string | Uint8Array>>

/** A folder with these files, removed when the test ends. Its path is real: no links in it. */
export function tempFolder(t: TestContext, files: Files = {}): string {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'heddle-analyze-')))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  writeFiles(folder, files)
  return folder
}

export function writeFiles(folder: string, files: Files): void {
  for (const [name, content] of Object.entries(files)) {
    const file = path.join(folder, name)
    mkdirSync(path.dirname(file), { recursive: true })
    writeFileSync(file, content)
  }
}

/**
 * Writes docs/reference/inventory.md, the inventory of our own packages; with `--check` only
 * compares.
 *
 * Packages are found, not listed: one that is added later is in the next page.
 */
import { glob, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import {
  analyze,
  inventoryMarkdown,
  loadCatalogue,
  makeInventory,
} from '../packages/analyze/src/index.ts'

const root = path.dirname(import.meta.dirname)
const pageFile = path.join(root, 'docs/reference/inventory.md')

const files: string[] = []
for await (const file of glob('packages/{core,cli,server,worker}/src/**/*.ts', { cwd: root })) {
  files.push(path.join(root, file))
}

const { program } = await analyze({
  root,
  files: files.toSorted(),
  types: 'none',
  rules: [],
  keepsProgram: true,
})
const page = inventoryMarkdown(makeInventory(program, await loadCatalogue()), {
  linkBase: '../../',
  withLines: false,
  subject:
    'the packages that run in your process (`core`, `server` and `cli`, and `worker` once it is there)',
})

if (process.argv.includes('--check')) {
  const current = await readFile(pageFile, 'utf8').catch(() => '')
  if (current !== page) {
    console.error('docs/reference/inventory.md does not match the code. Run: npm run format')
    process.exitCode = 1
  }
} else {
  await writeFile(pageFile, page)
}

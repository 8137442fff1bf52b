/**
 * Writes docs/reference/api/, a page for each entry of the packages, from the types and the TSDoc of the sources. With `--check` only
 * compares. TypeDoc works with the TypeScript 6 of this workspace: it uses the compiler's API, which TypeScript 7 does not have
 * (docs/decisions/0620).
 */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { Application, type ProjectReflection } from 'typedoc'
import { root } from './pages.ts'

const folder = path.join(root, 'docs/reference/api')

/** The exported names, with the page of each and its source. */
const entries = [
  { name: '@heddle/core', page: 'core', source: 'core/src/index' },
  { name: '@heddle/core/lowlevel', page: 'core-lowlevel', source: 'core/src/lowlevel' },
  { name: '@heddle/core/testing', page: 'core-testing', source: 'core/src/testing' },
  { name: '@heddle/server', page: 'server', source: 'server/src/index' },
  { name: '@heddle/server/client', page: 'server-client', source: 'server/src/client/index' },
  { name: '@heddle/worker', page: 'worker', source: 'worker/src/index' },
  { name: '@heddle/release', page: 'release', source: 'release/src/index' },
  { name: '@heddle/release/testing', page: 'release-testing', source: 'release/src/testing' },
  { name: '@heddle/analyze', page: 'analyze', source: 'analyze/src/index' },
] as const

type Pages = ReadonlyMap<string, string>

async function makePages(): Promise<Pages> {
  const out = mkdtempSync(path.join(os.tmpdir(), 'heddle-api-'))
  try {
    const app = await Application.bootstrapWithPlugins({
      entryPoints: entries.map(({ source }) => path.join(root, `packages/${source}.ts`)),
      tsconfig: path.join(import.meta.dirname, 'tsconfig.api.json'),
      // `tsc -b` has checked the types.
      skipErrorChecking: true,
      plugin: [import.meta.resolve('typedoc-plugin-markdown')],
      out,
      // Lines would change with every edit above them.
      disableSources: true,
      excludePrivate: true,
      excludeProtected: true,
      excludeInternal: true,
      readme: 'none',
      logLevel: 'Error',
      ...layout,
    })
    const project = await app.convert()
    if (project === undefined) throw new Error('TypeDoc could not read the sources.')
    nameModules(project)
    await app.generateOutputs(project)
    if (app.logger.hasErrors()) throw new Error('TypeDoc reported errors.')
    const pages = entries.map(({ name, page }): [string, string] => [
      `${page}.md`,
      tidy(readFileSync(path.join(out, `${page}.md`), 'utf8'), name),
    ])
    return withLinksThatLead(new Map(pages))
  } finally {
    rmSync(out, { recursive: true, force: true })
  }
}

/** Options of typedoc-plugin-markdown, which the types of TypeDoc do not know. */
const layout: object = {
  router: 'module',
  hideBreadcrumbs: true,
  hidePageHeader: true,
  hidePageTitle: true,
  useCodeBlocks: true,
  parametersFormat: 'table',
  propertiesFormat: 'table',
  interfacePropertiesFormat: 'table',
  classPropertiesFormat: 'table',
  typeAliasPropertiesFormat: 'table',
  typeDeclarationFormat: 'table',
}

/** TypeDoc names modules by their files, and an `index.ts` by its folder. */
function nameModules(project: ProjectReflection): void {
  for (const module of project.children ?? []) {
    const entry = entries.find(({ source }) => source.replace(/\/index$/, '') === module.name)
    if (entry === undefined) throw new Error(`${module.name} is not the source of an entry.`)
    module.name = entry.page
  }
}

/** Leaves out anchors of table rows, and tables of type parameters, which the signature above them has too. */
function tidy(text: string, name: string): string {
  const body = text
    .replaceAll(/<a id="[^"]*"><\/a> ?/g, '')
    .replaceAll(/^#+ Type Parameters\n\n(?:\|.*\n)+\n/gm, '')
    .replaceAll(/[ \t]+$/gm, '')
    .trim()
  return `# ${name}\n\nWritten from the code by \`npm run format\`.\n\n${body}\n`
}

/** TypeDoc numbers anchors in its own way: a link leads to the first heading of its name, and is left out where there is none. */
function withLinksThatLead(pages: Pages): Pages {
  const anchors = new Map([...pages].map(([file, text]) => [file, anchorsOf(text)]))
  const made = [...pages].map(([file, text]): [string, string] => [
    file,
    text.replaceAll(/\[((?:[^\]\\]|\\.)+)\]\(([\w-]+\.md)?#([\w-]+)\)/g, (_, words, to, anchor) => {
      const there = anchors.get(to ?? file)
      const found = [anchor, anchor.replace(/-\d+$/, '')].find((each) => there?.has(each))
      return found === undefined ? words : `[${words}](${to ?? ''}#${found})`
    }),
  ])
  return new Map(made)
}

/**
 * Anchors that GitHub makes from headings; those of equal headings have numbers there, and nothing
 * links to them here.
 */
function anchorsOf(text: string): Set<string> {
  return new Set(
    Array.from(text.matchAll(/^#+ (.+)$/gm), ([, heading]) =>
      heading!
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
        .replaceAll(/\s/g, '-'),
    ),
  )
}

function isCurrent(pages: Pages): boolean {
  const there = existsSync(folder) ? readdirSync(folder) : []
  return (
    there.every((file) => pages.has(file)) &&
    [...pages].every(([file, text]) => {
      const full = path.join(folder, file)
      return existsSync(full) && readFileSync(full, 'utf8') === text
    })
  )
}

const pages = await makePages()
if (!process.argv.includes('--check')) {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  for (const [file, text] of pages) writeFileSync(path.join(folder, file), text)
} else if (!isCurrent(pages)) {
  console.error('docs/reference/api is not what the code says: run `npm run format`.')
  process.exitCode = 1
}

import { stripVTControlCharacters } from 'node:util'
import { nameIn, type Output, type Reported, type Tool } from './tool.ts'
import { peerProgram } from './peer-program.ts'

export const changesets: Tool = {
  title: 'changesets 3.0.3 with pnpm: changeset publish',
  command: { file: peerProgram('changeset'), args: ['publish'] },
  files: { '.changeset/config.json': '{ "access": "public", "baseBranch": "main" }\n' },
  isLinked: true,
  read: readOutput,
}

/** Lists of `name@version`, each after a line that names the list. */
function readOutput({ stdout, stderr }: Output): Reported {
  const lines = stripVTControlCharacters(`${stdout}\n${stderr}`).split('\n')
  const listAfter = (heading: RegExp): string[] => {
    const found: string[] = []
    const start = lines.findIndex((line) => heading.test(line))
    if (start < 0) return found
    for (const line of lines.slice(start + 1)) {
      if (/^@?[\w/.-]+@\d\S*$/.test(line.trim())) found.push(nameIn(line.trim()))
      else if (!/^\s*[└├│]/.test(line)) break
    }
    return found
  }
  const failed = listAfter(/failed to publish:/)
  const problem =
    lines.find((line) => /^\s*└ /.test(line)) ?? lines.find((line) => /Error/.test(line))
  return {
    published: listAfter(/Successfully published:/),
    already: [],
    failed,
    notDone: [],
    message: problem?.replace(/^\s*└ /, '').trim() ?? '',
  }
}

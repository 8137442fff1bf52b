import { stripVTControlCharacters } from 'node:util'
import { peerProgram } from './peer-program.ts'
import type { Output, Reported, Tool } from './tool.ts'

export const nx: Tool = {
  title: 'nx 23.3.1: nx release publish',
  command: { file: peerProgram('nx'), args: ['release', 'publish'] },
  files: {
    // The file that `nx init` writes.
    '.gitignore': 'node_modules/\nout.txt\n.nx/\n',
    'nx.json': `${JSON.stringify({ analytics: false, release: { projects: ['packages/*'] } })}\n`,
  },
  isLinked: true,
  // Nx looks for itself and its plugins in the repository.
  modules: ['nx', '@nx/js'],
  read: readOutput,
}

/** After the name of each task, its output. */
function readOutput({ stdout, stderr }: Output): Reported {
  const text = stripVTControlCharacters(`${stdout}\n${stderr}`)
  const tasks = text.split(/^> nx run (?=\S+:nx-release-publish)/m).slice(1)
  const named = (isMeant: (said: string) => boolean): string[] =>
    tasks.filter(isMeant).map((said) => said.slice(0, said.indexOf(':nx-release-publish')))
  const isPublished = (said: string): boolean => said.includes('Published to ')
  const isSkipped = (said: string): boolean => said.includes('Skipped package ')
  return {
    published: named(isPublished),
    already: named(isSkipped),
    failed: named((said) => !isPublished(said) && !isSkipped(said)),
    notDone: [],
    message: /(?:npm error|npm ERR!|Error:|ERR_PNPM\w*) ([^\n]*)/.exec(text)?.[1] ?? '',
  }
}

import { allIn, nameIn, type Output, type Reported, type Tool } from './tool.ts'
import { peerProgram } from './peer-program.ts'

export const pnpm: Tool = {
  title: 'pnpm 12.18.0: pnpm publish -r',
  command: { file: peerProgram('pnpm'), args: ['publish', '-r'] },
  files: {},
  isLinked: true,
  read: readOutput,
}

/** Links the packages of a workspace to each other, for tools that want it. */
export const pnpmInstall = { file: peerProgram('pnpm'), args: ['install'] }

/** Published packages are skipped without a line. */
function readOutput({ stdout, stderr }: Output): Reported {
  const text = `${stdout}\n${stderr}`
  const problem = /× (.*(?:\n {2}│ .*)*)/.exec(stderr)?.[1] ?? /Error: (.*)/.exec(stderr)?.[1] ?? ''
  return {
    published: allIn(text, /Published package (\S+)/g).map(nameIn),
    already: [],
    failed: allIn(text, /Failed to publish package (\S+)/g).map(nameIn),
    notDone: [],
    message: problem.replaceAll(/\s*\n {2}│ /g, ' ').trim(),
  }
}

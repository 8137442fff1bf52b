/**
 * Runs the top level of a module, as far as it is made of constants, to find the regular expressions
 * that it builds: `createToken('X', `${a}${b}`)`, `edit(rule).replace('x', part).getRegex()`, patterns
 * that are assembled in one file and used in another.
 *
 * It knows literals, templates, objects, arrays, functions of the program, and a few methods of texts
 * and arrays. Whatever else it meets is `unknown`, and so is everything that depends on it: nothing is
 * guessed. Code of the program is never run by JavaScript itself.
 *
 * I1  It ends: steps and depth are bounded, and out of budget everything is unknown.
 * I2  No pattern of the program is matched unless it is known to be linear.
 */
import type { Expression } from 'oxc-parser'
import type { FileUnit } from '../../ir/program.ts'
import type { ModuleFinder } from '../modules.ts'
import { Run } from './run-statements.ts'
import type { Module } from './run-statements.ts'
import { Names, object } from './value.ts'
import type { ObjectValue, Value } from './value.ts'

export class Evaluator {
  readonly #modules = new Map<FileUnit, Module>()
  readonly #finder: ModuleFinder

  constructor(finder: ModuleFinder) {
    this.#finder = finder
  }

  /** The value of a name at the top level of a file. */
  valueOf(file: FileUnit, name: string): Value {
    return this.#module(file).names.get(name)
  }

  /** Evaluates an expression of a file with the names of its top level. */
  valueAt(file: FileUnit, expression: Expression): Value {
    return new Run(file, (from, specifier) => this.#import(from, specifier)).expression(
      expression,
      this.#module(file).names,
    )
  }

  #import(from: FileUnit, specifier: string): ObjectValue | undefined {
    const file = this.#finder.resolve(from, specifier)
    return file === undefined ? undefined : this.#module(file).exports
  }

  #module(file: FileUnit): Module {
    const known = this.#modules.get(file)
    if (known !== undefined) return known
    const made: Module = { names: new Names(), exports: object() }
    this.#modules.set(file, made)
    const run = new Run(file, (from, specifier) => this.#import(from, specifier))
    run.module(file.parsed.program.body, made)
    return made
  }
}

// Where the runtime's program is.

import { accessSync, constants, existsSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const PROGRAM = process.platform === "win32" ? "impresario.exe" : "impresario";

/** The platform package that holds the program, by operating system and processor. */
export const PLATFORM_PACKAGE = `pi-impresario-${process.platform}-${process.arch}`;

export interface FoundBinary {
  path: string | undefined;
  /** Where was looked, for a person. */
  looked: string[];
}

/** The setting, the platform package, the checkout this file lies in, the PATH: the first that is there. */
export function findBinary(environment: NodeJS.ProcessEnv = process.env, here: string = import.meta.url): FoundBinary {
  const looked: string[] = [];
  const set = environment["IMPRESARIO_BINARY"];
  if (set) {
    looked.push(`IMPRESARIO_BINARY (${set})`);
    return { path: isProgram(set) ? resolve(set) : undefined, looked };
  }
  looked.push(`the package ${PLATFORM_PACKAGE}`);
  const packaged = fromPlatformPackage(here);
  if (packaged) return { path: packaged, looked };
  const built = fromCheckout(here, looked);
  if (built) return { path: built, looked };
  looked.push("PATH");
  const onPath = (environment["PATH"] ?? "").split(delimiter).filter(Boolean);
  return { path: onPath.map((directory) => join(directory, PROGRAM)).find(isProgram), looked };
}

function fromPlatformPackage(here: string): string | undefined {
  try {
    const manifest = createRequire(here).resolve(`${PLATFORM_PACKAGE}/package.json`);
    const program = join(dirname(manifest), "bin", PROGRAM);
    return isProgram(program) ? program : undefined;
  } catch {
    return undefined;
  }
}

/** In a checkout of the project: whichever build is newer. */
function fromCheckout(here: string, looked: string[]): string | undefined {
  const root = resolve(dirname(fileURLToPath(here)), "..", "..");
  if (!existsSync(join(root, "Cargo.toml"))) return undefined;
  looked.push(join(root, "target"));
  const builds = ["release", "debug"].map((profile) => join(root, "target", profile, PROGRAM)).filter(isProgram);
  return builds.sort((left, right) => statSync(right).mtimeMs - statSync(left).mtimeMs)[0];
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

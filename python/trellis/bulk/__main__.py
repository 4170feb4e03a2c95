import sys

from trellis.bulk import command, here

sys.exit(command.run("python -m trellis.bulk", "Bulk work in this process.", {"tokenize": here.tokenize, "embed": here.embed},
                     lambda parser: None))

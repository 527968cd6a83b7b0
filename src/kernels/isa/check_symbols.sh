#!/bin/sh
# check_symbols.sh NM ARCHIVE: fails when a file compiled for an instruction set offers the linker a symbol that is not that set's
# own. Such a symbol (an inline function, a standard template) could replace the same function everywhere and would then crash on a
# processor without the instructions.
"$1" -C "$2" | awk '
  /\.o:$/ { own = /_avx512\.cc\.o:$/ ? "Avx512" : /_avx2\.cc\.o:$/ ? "Avx2" : ""; file = $1; files += own != "" }
  own != "" && $2 ~ /^[TWVuBDR]$/ && index($0, own) == 0 && $0 !~ /DW\.ref\./ { print "leaks from " file " " $0; bad = 1 }
  END { if (files == 0) { print "no instruction set file found"; bad = 1 } exit bad }'

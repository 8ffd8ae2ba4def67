// SPDX-License-Identifier: Apache-2.0
//
// Nothing: libbatchai_tensorflow is linked against this in place of TensorFlow's library.
